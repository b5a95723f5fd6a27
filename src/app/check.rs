//! What a gate judges: a candidate, listed; a baseline, narrowed; the policy that stands over it. Free functions, because CI
//! asks without a database.
//!
//! Where a listing fails nothing is judged: "the server is down" must never read as "its tools were removed".

use serde_json::value::RawValue;
use tokio::sync::Semaphore;

use super::{App, AppError, Kind, counts, view};
use crate::{
    catalog::{CatalogVersion, Policy},
    contract::Contract,
    diff::{Calls, Options, Report, Side, diff_with_calls},
    mcp::{self, Limits, Source},
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::{Evidence, Listing, Outcome},
};

/// Lists a server and reads the contracts of its tools. `label` names it to readers; the evidence tells where it left
/// the protocol without hindering the listing. Last comes the version that the server says of itself.
///
/// # Errors
/// [`Kind::Unavailable`] where the listing did not end well, with its evidence, or a tool has no contract: what a live
/// server answers is never the caller's mistake.
pub async fn list_side(label: &str, source: &Source) -> Result<(Side, Evidence, Option<String>), AppError> {
    let Listing { outcome, evidence, tools, provenance, .. } =
        mcp::list_tools(source, &Limits::default()).await;
    if outcome != Outcome::Ok {
        return Err(failed_listing(label, outcome, evidence));
    }
    let contracts = tools.iter().map(Contract::of).collect::<Result<Vec<_>, _>>().map_err(|e| {
        AppError::new(Kind::Unavailable, "malformed-tool", format!("server `{label}`: {e}"))
            .help("no host can call such a tool; repair it in the server")
    })?;
    let version = provenance.server_version().map(str::to_owned);
    Ok((Side { label: label.to_owned(), servers: vec![(None, contracts)] }, evidence, version))
}

/// The failure that a listing without a good end is to whoever wanted the list.
#[must_use]
pub fn failed_listing(label: &str, outcome: Outcome, evidence: Evidence) -> AppError {
    let message = format!("server `{label}` could not be listed ({outcome}): {}", evidence.message);
    let mut error = AppError::new(Kind::Unavailable, "listing-failed", message).help(evidence.help.clone());
    error.listing = Some(Box::new((outcome, evidence)));
    error
}

/// Narrows a baseline to the one server that the candidate is. A candidate that is one server of several would
/// otherwise read as the removal of all the others.
///
/// # Errors
/// [`Kind::Invalid`] where the baseline holds several servers and none is named, or not the one that is.
pub fn of_server(mut baseline: Side, server: Option<&ServerName>) -> Result<Side, AppError> {
    let names: Vec<String> = baseline.servers.iter().flat_map(|(n, _)| n).map(|n| format!("`{n}`")).collect();
    let refused = |cause: String| {
        AppError::new(Kind::Invalid, "which-server", format!("`{}` {cause}", baseline.label))
            .help(format!("say which of its servers is meant with `--server NAME`: {}", names.join(", ")))
    };
    match server {
        None if baseline.servers.len() > 1 => {
            return Err(refused(format!("holds {} servers", baseline.servers.len())));
        }
        None => {}
        Some(server) => {
            // A list that does not say whose it is may be anyone's.
            let known = |name: &Option<ServerName>| name.as_ref().is_none_or(|n| n == server);
            if !baseline.servers.iter().any(|(name, _)| known(name)) {
                return Err(refused(format!("holds no server `{server}`")));
            }
            baseline.servers.retain(|(name, _)| known(name));
        }
    }
    Ok(baseline)
}

impl App {
    /// The policy that a reference stands under: that of its catalog, or of all catalogs that are live in an
    /// environment, the stricter of each; the default for a snapshot.
    ///
    /// # Errors
    /// Where the database fails. A reference that names nothing has the default policy.
    pub async fn policy_of(&self, reference: &str) -> Result<Policy, AppError> {
        let catalogs: Vec<CatalogName> = match reference.split_once('@') {
            Some((name, what)) if self.names_a_catalog(name, what).await? => {
                name.parse().into_iter().collect()
            }
            Some(_) => Vec::new(),
            None => match reference.parse::<EnvironmentName>() {
                Ok(name) => {
                    let pointers = self.store.pointers().await?;
                    pointers.into_iter().filter(|p| p.environment == name).map(|p| p.catalog).collect()
                }
                Err(_) => Vec::new(),
            },
        };
        let mut policies = Vec::new();
        for name in &catalogs {
            policies.extend(self.store.catalog(name).await?.map(|catalog| catalog.policy));
        }
        Ok(policies.into_iter().reduce(Policy::and).unwrap_or_default())
    }

    /// The versions that servers declared of themselves in what a reference names: in its snapshot, or in those that the
    /// versions of catalogs pin.
    ///
    /// # Errors
    /// Where the database fails. What names nothing declares nothing.
    pub async fn declared_in(&self, reference: &str) -> Result<Vec<(ServerName, String)>, AppError> {
        let mut pins = Vec::new();
        match reference.split_once('@') {
            Some((name, what)) if self.names_a_catalog(name, what).await? => {
                let Ok(name) = name.parse::<CatalogName>() else { return Ok(Vec::new()) };
                let version = match what.parse::<CatalogVersion>() {
                    Ok(number) => self.store.version(&name, number).await?,
                    Err(_) => self.store.latest_version(&name).await?,
                };
                pins.extend(version.into_iter().flat_map(|v| v.content.servers));
            }
            Some(_) => {
                let Some((server, digest)) = self.snapshot_named(reference).await? else {
                    return Ok(Vec::new());
                };
                let snapshot = self.store.snapshot(&server, &digest).await?;
                let version = snapshot.and_then(|s| s.provenance.server_version().map(str::to_owned));
                return Ok(version.map(|version| (server, version)).into_iter().collect());
            }
            None => {
                let Ok(name) = reference.parse::<EnvironmentName>() else { return Ok(Vec::new()) };
                for pointer in self.store.pointers().await?.into_iter().filter(|p| p.environment == name) {
                    let version = self.store.version(&pointer.catalog, pointer.version).await?;
                    pins.extend(version.into_iter().flat_map(|v| v.content.servers));
                }
            }
        }
        let declared = |pin: crate::catalog::ServerPin| {
            let version = pin.provenance.server_version()?.to_owned();
            Some((pin.server, version))
        };
        Ok(pins.into_iter().filter_map(declared).collect())
    }

    /// Whether [`App::side`] takes this for a catalog: a server and a catalog may have the same name.
    async fn names_a_catalog(&self, name: &str, what: &str) -> Result<bool, AppError> {
        Ok(match name.parse::<ServerName>() {
            _ if what.parse::<CatalogVersion>().is_ok() => true,
            Ok(server) => what == "latest" && self.store.last_ok(&server).await?.is_none(),
            Err(_) => false,
        })
    }
}

/// Diffs that compute at once. More would only take turns on the cores, and each holds two lists in memory.
const DIFFS_AT_ONCE: usize = 4;

static TURNS: Semaphore = Semaphore::const_new(DIFFS_AT_ONCE);

/// Diffs two sides on a thread of its own, a few at a time.
///
/// # Errors
/// Where the thread ended before it was done.
pub async fn compared(baseline: Side, candidate: Side, options: Options) -> Result<Report, AppError> {
    compared_with_calls(baseline, candidate, options, Calls::default()).await
}

/// The same, held against recorded calls as well.
///
/// # Errors
/// As [`compared`].
pub async fn compared_with_calls(
    baseline: Side,
    candidate: Side,
    options: Options,
    calls: Calls,
) -> Result<Report, AppError> {
    let report = in_turn(move || diff_with_calls(&baseline, &candidate, options, &calls)).await?;
    counts::diff(report.verdict);
    Ok(report)
}

/// The same for two saved answers and recorded calls; reading them is computing as well.
///
/// # Errors
/// What a text is instead, naming its label, or where the thread ended before it was done.
pub async fn compared_texts(
    baseline: (&'static str, Box<RawValue>),
    candidate: (&'static str, Box<RawValue>),
    options: Options,
    calls: Option<(&'static str, Box<RawValue>)>,
) -> Result<Report, AppError> {
    let calls = move || match calls {
        Some((label, text)) => view::recorded_calls(label, text.get()),
        None => Ok(Calls::default()),
    };
    let side = |(label, text): (&str, Box<RawValue>)| view::file_side(label, text.get());
    let made = move || Ok(diff_with_calls(&side(baseline)?, &side(candidate)?, options, &calls()?));
    let report: Report = in_turn::<Result<_, AppError>>(made).await??;
    counts::diff(report.verdict);
    Ok(report)
}

async fn in_turn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, AppError> {
    // Never closed, so never refused.
    let turn = TURNS.acquire().await;
    // The turn ends with the work, not with the request that may have been given up.
    computed(move || {
        let done = work();
        drop(turn);
        done
    })
    .await
}

/// Computes on a thread of its own: what takes long would keep the threads that answer requests from answering.
///
/// # Errors
/// Where the thread ended before it was done.
pub(super) async fn computed<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, AppError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| AppError::new(Kind::Internal, "internal", format!("a computation ended: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(names: &[&str]) -> Side {
        let servers = names.iter().map(|n| (n.parse().ok(), Vec::new())).collect();
        Side { label: "production".to_owned(), servers }
    }

    fn check(baseline: &[&str], server: Option<&str>) -> Result<Vec<String>, String> {
        let server: Option<ServerName> = server.and_then(|s| s.parse().ok());
        of_server(side(baseline), server.as_ref())
            .map(|s| {
                s.servers.iter().map(|(n, _)| n.as_ref().map_or(String::new(), ToString::to_string)).collect()
            })
            .map_err(|e| format!("{}; {}", e.message, e.help))
    }

    #[test]
    fn a_candidate_is_one_server_of_the_baseline() {
        assert_eq!(check(&["orders"], None), Ok(vec!["orders".to_owned()]));
        assert_eq!(check(&["orders", "mail"], Some("mail")), Ok(vec!["mail".to_owned()]));
        assert_eq!(check(&[""], Some("mail")), Ok(vec![String::new()]));
        assert_eq!(
            check(&["orders", "mail"], None),
            Err("`production` holds 2 servers; say which of its servers is meant with `--server NAME`: `orders`, \
                 `mail`"
                .to_owned())
        );
        assert!(check(&["orders"], Some("mail")).is_err_and(|e| e.contains("holds no server `mail`")));
    }
}
