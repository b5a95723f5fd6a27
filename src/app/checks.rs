//! Checks: what a build offers, held against what is live in an environment by the policy that a move there is judged by.
//!
//! A check decides nothing and moves nothing. What was decided of its changes counts by their fingerprints, so a build that was
//! blocked passes once its changes are accepted, without being registered anew.

use std::{cmp::Reverse, collections::BTreeSet};

use serde_json::{json, value::RawValue};

use super::{
    App, AppError, Kind,
    access::{Object, Right},
    check::{compared, computed},
    earlier,
    lists::{Page, Slice},
    review::standings,
    sides::Unpinned,
    view::{self, Standing},
};
use crate::{
    catalog::{
        Catalog, CatalogVersion, EnvironmentPointer, Policy, Version,
        check::{BuildContext, Check},
        policy::Against,
        review::{Cause, Decisions, Judging},
    },
    contract::Contract,
    diff::{Report, Side},
    gate::declared,
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
    store::{CheckQuery, CheckRow, EventQuery},
};

/// More servers than this are in no repository.
pub const MAX_SERVERS: usize = 100;

/// What is asked to be checked.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// The catalog; may be left out where only one that is live there holds the servers.
    pub catalog: Option<CatalogName>,
    /// Against what is live where.
    pub environment: EnvironmentName,
    /// What the build offers: each server with its answer to `tools/list`.
    pub servers: Vec<(ServerName, Box<RawValue>)>,
    /// Where the build came from.
    pub context: BuildContext,
    /// Whether nothing is to be kept.
    pub dry_run: bool,
    /// Who asks.
    pub actor: String,
}

/// A check, and how it stands now.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The check; its number is 0 where it was not registered.
    pub check: Check,
    /// What it is held against by.
    pub policy: Policy,
    /// How each change stands.
    pub standing: Vec<Standing>,
    /// The versions that are declared in what is live: of each server, and of each tool that differs and has one of its own.
    /// Those of tools only where the check was just made.
    pub releases: Vec<Release>,
    /// What is live there by now, where that is another version than the one that the build was held against.
    pub overtaken: Option<CatalogVersion>,
}

/// A version that was declared in what is live.
#[derive(Debug, Clone)]
pub struct Release {
    /// The server.
    pub server: ServerName,
    /// The tool, where it declared one of its own.
    pub tool: Option<String>,
    /// The version.
    pub version: String,
}

impl Checked {
    /// The number under which it was registered.
    #[must_use]
    pub fn registered(&self) -> Option<i64> {
        (self.check.id > 0).then_some(self.check.id)
    }

    /// How many changes stand in the way.
    #[must_use]
    pub fn blocking(&self) -> usize {
        self.standing.iter().filter(|s| s.blocks.is_some()).count()
    }

    /// How many of those nobody can accept.
    #[must_use]
    pub fn never_accepted(&self) -> usize {
        self.standing.iter().filter(|s| s.blocks == Some(Cause::Absolute.as_str())).count()
    }
}

impl App {
    /// Holds what a build offers against what is live in an environment, and registers that as a check.
    ///
    /// # Errors
    /// Where nothing of the servers is live there, a list is none, or what is live is not all known here.
    pub async fn make_check(&self, request: CheckRequest) -> Result<Checked, AppError> {
        let CheckRequest { catalog, environment, servers, context, dry_run, actor } = request;
        self.permit(Right::Draft, Object { catalog: catalog.as_ref(), environment: Some(&environment) })?;
        let names = named_once(&servers)?;
        let pointer = self.checked_pointer(&environment, catalog.as_ref(), &names).await?;
        let name = pointer.catalog.clone();
        self.permit(Right::Draft, Object { catalog: Some(&name), environment: Some(&environment) })?;
        let settings = self.known_catalog(&name).await?;
        let live = self.version(&name, pointer.version).await?;
        let policy = settings.policy_in(&environment);

        let candidate = offered(&settings, servers).await?;
        let baseline = self.live_side(&live, &names).await?;
        let of_tools = baseline.clone();
        let report = compared(baseline, candidate.clone(), policy.options()).await?;
        let earlier = if policy.against == Against::Latest {
            Vec::new()
        } else {
            let ever = self.ever_live(&name, Some(&environment)).await?;
            let older = self.store.versions(&name).await?;
            let scope = earlier::scope(policy.against, &live, &older, &ever);
            self.against_earlier(&scope, &candidate, policy.options()).await?
        };
        let check = Check {
            id: 0,
            digest: digest(
                &name,
                &environment,
                live.version,
                &context,
                &candidate,
                (&report, &earlier),
                &actor,
            ),
            catalog: name,
            environment,
            version: live.version,
            servers: names.into_iter().collect(),
            context,
            report,
            earlier,
            created_by: actor,
            created_at: self.now(),
        };
        let check = if dry_run { check } else { self.keep_check(check).await? };
        let mut checked = self.standing_check(check, &live, policy).await?;
        checked.releases.extend(tool_releases(&of_tools, &checked.check.report));
        Ok(checked)
    }

    /// A check, as it stands now.
    ///
    /// # Errors
    /// Where it does not exist, or was pruned.
    pub async fn get_check(&self, id: i64) -> Result<Checked, AppError> {
        let readable = |check: &Check| self.reads(&check.catalog, &check.environment);
        let Some(check) = self.store.check(id).await?.filter(readable) else {
            return Err(self.no_check(id).await?);
        };
        let settings = self.known_catalog(&check.catalog).await?;
        let live = self.version(&check.catalog, check.version).await?;
        let policy = settings.policy_in(&check.environment);
        self.standing_check(check, &live, policy).await
    }

    /// Why there is no such check: none ever was, as far as the caller may know, or it was pruned. The log remembers it.
    async fn no_check(&self, id: i64) -> Result<AppError, AppError> {
        let query = EventQuery {
            subject: Some(format!("check/{id}")),
            kind: Some("check.registered".to_owned()),
            ..EventQuery::default()
        };
        let noted = self.store.events_before(&query, 1, i64::MAX, 1).await?.pop();
        let was = noted.and_then(|event| {
            let name = |member: &str| event.data.get(member)?.as_str();
            Some((name("catalog")?.parse().ok()?, name("environment")?.parse().ok()?))
        });
        Ok(match was {
            Some((catalog, environment)) if self.reads(&catalog, &environment) => {
                let message = format!("check `{id}` was pruned: it is older than checks are kept here");
                AppError::new(Kind::Gone, "check-pruned", message).help(
                    "what was decided of its changes still counts; run its gate again to have it checked anew",
                )
            }
            Some(_) | None => {
                AppError::new(Kind::NotFound, "unknown-check", format!("check `{id}` does not exist"))
                    .help("the gate of its build shows its number")
            }
        })
    }

    /// Whether the caller may read checks of this. What lies outside of a scope is neither told nor counted: it is as if it were
    /// not there.
    fn reads(&self, catalog: &CatalogName, environment: &EnvironmentName) -> bool {
        let object = Object { catalog: Some(catalog), environment: Some(environment) };
        self.permit(Right::Read, object).is_ok()
    }

    /// Checks, the newest first; of those that the caller may read.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn checks_page(
        &self,
        query: &CheckQuery,
        slice: &Slice<Reverse<i64>>,
    ) -> Result<Page<CheckRow, Reverse<i64>>, AppError> {
        let before = slice.after.map(|Reverse(id)| id);
        let scope = self.caller().map(|caller| &caller.scope);
        let catalogs = within(scope.and_then(|scope| scope.catalogs.as_ref()), query.catalog.as_ref());
        let environments =
            within(scope.and_then(|scope| scope.environments.as_ref()), query.environment.as_ref());
        let mut rows = Vec::new();
        for catalog in catalogs {
            for environment in &environments {
                let (catalog, environment) = (catalog.clone(), environment.clone());
                let query = CheckQuery { catalog, environment, ..query.clone() };
                rows.extend(self.store.check_rows(&query, before, slice.and_one()).await?);
            }
        }
        // Each list is in order, and no check is in two of them.
        rows.sort_by_key(|row| Reverse(row.id));
        Ok(Page::of(rows, slice.limit, |row| Reverse(row.id)))
    }

    async fn keep_check(&self, check: Check) -> Result<Check, AppError> {
        let data = json!({
            "catalog": check.catalog, "environment": check.environment, "version": check.version,
            "servers": check.servers, "context": check.context, "digest": check.digest,
            "verdict": check.report.verdict, "ruleSet": check.report.rule_set,
        });
        let event = self.event(&check.created_by, "check.registered", String::new(), data);
        Ok(self.store.put_check(check, event).await?)
    }

    /// Where the environment points, for the catalog that is named or the only one that holds one of the servers.
    async fn checked_pointer(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        servers: &BTreeSet<ServerName>,
    ) -> Result<EnvironmentPointer, AppError> {
        let pointers = match catalog {
            Some(name) => {
                self.known_catalog(name).await?;
                vec![self.live(environment, Some(name)).await?]
            }
            None if self.caller().is_some_and(|caller| caller.scope.catalogs.is_some()) => {
                vec![self.live(environment, None).await?]
            }
            None => self.pointers_of(environment).await?,
        };
        let (mut fitting, mut missing) = (Vec::new(), None);
        let several = pointers.len() > 1;
        for pointer in pointers {
            let settings = self.known_catalog(&pointer.catalog).await?;
            let live = self.version(&pointer.catalog, pointer.version).await?;
            let stranger = servers.iter().find(|server| !holds(&settings, &live, server));
            match stranger {
                None => fitting.push(pointer),
                Some(stranger) => missing = missing.or(Some((stranger.clone(), settings, live))),
            }
        }
        match (fitting.pop(), fitting.is_empty(), missing) {
            (Some(only), true, _) => Ok(only),
            (Some(last), false, _) => {
                fitting.push(last);
                let names: Vec<String> = fitting.iter().map(|p| format!("`{}`", p.catalog)).collect();
                let message = format!(
                    "{} catalogs that are live in `{environment}` hold what is checked",
                    fitting.len()
                );
                Err(AppError::new(Kind::Invalid, "ambiguous-catalog", message)
                    .help(format!("name one of them as `catalog`: {}", names.join(", "))))
            }
            (None, _, Some((server, settings, live))) => {
                let whose = if several {
                    format!("no catalog that is live in `{environment}` holds")
                } else {
                    format!("catalog `{}` holds no", settings.name)
                };
                let message =
                    format!("{whose} server `{server}`{}", if several { " with the others" } else { "" });
                let mut known: BTreeSet<&str> = settings.servers.iter().map(|s| s.name.as_str()).collect();
                known.extend(live.content.members.iter().filter_map(|m| Some(m.server.as_ref()?.as_str())));
                let known: Vec<&str> = known.into_iter().collect();
                Err(AppError::new(Kind::NotFound, "server-not-pinned", message).help(format!(
                    "name it as the catalog does ({}; a gate takes `--server`), or have the catalog hold it",
                    known.join(", ")
                )))
            }
            (None, _, None) => {
                let message = format!("nothing is live in `{environment}`");
                Err(AppError::new(Kind::NotFound, "never-promoted", message))
            }
        }
    }

    /// What is live of these servers. All of it has to be known: what is left out would read as new.
    async fn live_side(&self, live: &Version, servers: &BTreeSet<ServerName>) -> Result<Side, AppError> {
        let mut narrowed = live.clone();
        narrowed.content.members.retain(|m| m.server.as_ref().is_some_and(|s| servers.contains(s)));
        let label = format!("{}@{}", live.catalog, live.version);
        let side = self.version_side(&label, &narrowed, Unpinned::Refuse).await;
        side.map_err(|e| match e.code {
            "no-contracts" | "contract-not-stored" => AppError { kind: Kind::Conflict, ..e },
            _ => e,
        })
    }

    async fn standing_check(
        &self,
        check: Check,
        live: &Version,
        policy: Policy,
    ) -> Result<Checked, AppError> {
        let decisions: Decisions = self.store.decisions(&check.catalog).await?.into_iter().collect();
        let environment = Some(&check.environment);
        let announced =
            self.announced_in(&check.environment, &check.catalog, &policy, check.reports()).await?;
        let (decisions, announced, now) = (&decisions, &announced, self.now());
        let judging = Judging { policy: &policy, decisions, announced, environment, now };
        let standing = standings(judging, check.reports());
        let pins = live.content.servers.iter().filter(|pin| check.servers.contains(&pin.server));
        let releases = pins
            .filter_map(|pin| {
                let version = pin.provenance.server_version()?.to_owned();
                Some(Release { server: pin.server.clone(), tool: None, version })
            })
            .collect();
        let pointer = self.store.pointer(&check.environment, &check.catalog).await?;
        let overtaken = pointer.map(|pointer| pointer.version).filter(|version| *version != check.version);
        Ok(Checked { check, policy, standing, releases, overtaken })
    }
}

/// What has to be asked for one by one so that all of it lies within a scope; nothing in it stands for all there is.
fn within<T: Ord + Clone>(scope: Option<&BTreeSet<T>>, asked: Option<&T>) -> Vec<Option<T>> {
    match (scope, asked) {
        (None, asked) => vec![asked.cloned()],
        (Some(scope), None) => scope.iter().cloned().map(Some).collect(),
        (Some(scope), Some(asked)) => scope.get(asked).cloned().map(Some).into_iter().collect(),
    }
}

fn holds(settings: &Catalog, live: &Version, server: &ServerName) -> bool {
    settings.servers.iter().any(|s| s.name == *server)
        || live.content.members.iter().any(|m| m.server.as_ref() == Some(server))
}

/// The versions that tools which differ declared of themselves.
fn tool_releases(baseline: &Side, report: &Report) -> Vec<Release> {
    let differs = |server: &ServerName, tool: &str| {
        report.tools.iter().any(|t| t.server == server.as_str() && t.tool == tool)
    };
    let all =
        baseline.servers.iter().flat_map(|(server, contracts)| contracts.iter().map(move |c| (server, c)));
    all.filter_map(|(server, contract)| {
        let server = server.clone().filter(|server| differs(server, &contract.name))?;
        let version = declared::of_tool(contract.tool())?.version;
        Some(Release { server, tool: Some(contract.name.clone()), version })
    })
    .collect()
}

/// The names of what is checked.
fn named_once(servers: &[(ServerName, Box<RawValue>)]) -> Result<BTreeSet<ServerName>, AppError> {
    let refused = |message: String| Err(AppError::new(Kind::Invalid, "bad-servers", message));
    let mut names = BTreeSet::new();
    for (name, _) in servers {
        if !names.insert(name.clone()) {
            return refused(format!("server `{name}` is given twice"));
        }
    }
    match names.len() {
        0 => refused("no server is given, so there is nothing to check".to_owned()),
        1..=MAX_SERVERS => Ok(names),
        more => refused(format!("{more} servers are given; one check is of {MAX_SERVERS} at most")),
    }
}

/// What the build offers of what the catalog holds.
async fn offered(settings: &Catalog, servers: Vec<(ServerName, Box<RawValue>)>) -> Result<Side, AppError> {
    let label = match servers.as_slice() {
        [(only, _)] => format!("the build of {only}"),
        several => format!("the build of {} servers", several.len()),
    };
    let selections: Vec<_> = servers
        .iter()
        .map(|(name, _)| settings.servers.iter().find(|s| s.name == *name).map(|s| s.tools.matcher()))
        .collect();
    computed(move || {
        let mut side = Side { label, servers: Vec::new() };
        for ((name, listing), selection) in servers.into_iter().zip(selections) {
            let (_, mut contracts) = view::saved(name.as_str(), listing.get())?;
            contracts.retain(|c: &Contract| selection.as_ref().is_none_or(|s| s.holds(&c.name)));
            side.servers.push((Some(name), contracts));
        }
        Ok::<_, AppError>(side)
    })
    .await?
}

/// Over everything that makes a check this one.
fn digest(
    catalog: &CatalogName,
    environment: &EnvironmentName,
    version: CatalogVersion,
    context: &BuildContext,
    candidate: &Side,
    (report, earlier): (&Report, &[Report]),
    actor: &str,
) -> Digest {
    let tools = |contracts: &[Contract]| -> Vec<Digest> {
        contracts.iter().map(|c| c.digests().raw.clone()).collect()
    };
    let servers: Vec<_> = candidate.servers.iter().map(|(name, all)| json!([name, tools(all)])).collect();
    Digest::of(&json!({
        "catalog": catalog, "environment": environment, "version": version, "context": context, "actor": actor,
        "servers": servers, "ruleSet": report.rule_set, "assume": report.assumption, "formats": report.formats,
        "against": earlier.iter().map(|r| &r.baseline).collect::<Vec<_>>(),
    }))
}
