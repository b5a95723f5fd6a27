//! `gate --service`: what the tree offers, held by the service against what is live in an environment. The policy of the
//! repository softens nothing: what blocks says the policy there, and what passes all the same was decided there. Which service,
//! and what is done without it, is said on the command line where the repository is not to be believed in that.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Args, asked, build::Build, targets, today};
use crate::{
    app::{
        AppError, Kind,
        tree::{self, Failed, Listed, Tree, Tried},
    },
    catalog::{self, CatalogVersion, check::folded, policy::Direction},
    cli::{
        render::gate::{Asked, Baseline, Told},
        service,
        source::Chosen,
    },
    diff::{Assumption, Calls, Formats, Level, Report},
    gate::{
        Grounds, Policy, Standing, VersionCheck, Waiver, declared, judged_elsewhere,
        policy::DeclaredVersion,
        settings::{OnUnreachable, Service},
    },
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// What is sent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent<'a> {
    environment: &'a EnvironmentName,
    #[serde(skip_serializing_if = "Option::is_none")]
    catalog: Option<&'a CatalogName>,
    servers: Vec<Offered<'a>>,
    context: Build,
    dry_run: bool,
}

#[derive(Serialize)]
struct Offered<'a> {
    server: &'a ServerName,
    listing: Listing<'a>,
}

/// Every tool byte for byte: digests are over what a server sent.
#[derive(Serialize)]
struct Listing<'a> {
    tools: Vec<&'a RawValue>,
}

/// What is answered, as far as it is needed. Members that a later service adds are none of our business.
#[derive(Deserialize)]
struct Answered {
    id: Option<i64>,
    page: Option<String>,
    catalog: CatalogName,
    environment: EnvironmentName,
    version: CatalogVersion,
    policy: Rules,
    report: Report,
    earlier: Vec<Report>,
    standing: Vec<Stands>,
    releases: Vec<Release>,
    /// Its own word on the whole.
    passes: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rules {
    assume: Assumption,
    formats: Formats,
    fail_on: Vec<Level>,
    compatibility: Direction,
    deprecation_days: Option<u32>,
}

#[derive(Deserialize)]
struct Stands {
    change: Digest,
    blocks: Option<String>,
    decision: Option<Decided>,
    announced: Option<Announced>,
}

#[derive(Deserialize)]
struct Announced {
    since: NaiveDate,
    from: NaiveDate,
}

#[derive(Deserialize)]
struct Decided {
    ruling: catalog::review::Ruling,
    reason: String,
    actor: String,
    owner: Option<String>,
    expires: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Release {
    server: ServerName,
    tool: Option<String>,
    version: String,
}

/// The servers of the tree, held against what is live.
pub(super) fn checked(
    args: &Args,
    tree: &Tree,
    chosen: Option<Chosen>,
    calls: &Calls,
    settings: &Service,
) -> Result<Told, AppError> {
    let service = service::open(&settings.url)?;
    let path = tree.lockfile(args.lockfile.as_deref()).to_owned();
    // It may know where servers are; that it is not there, or not as it should be, is no matter as long as it is not judged by.
    let known = tree.lock_text(&path).ok().flatten().and_then(|text| tree::read_lock(&path, &text).ok());
    let mut targets = match (&known, chosen) {
        (Some(lock), chosen) => targets(args, tree, lock, chosen)?,
        (None, Some(chosen)) => {
            vec![tree::Target::given(args.server.clone(), super::place(chosen))]
        }
        (None, None) => tree.servers(None)?,
    };
    if let Some(name) = &args.server {
        targets = super::of_name(targets, name)?;
    }
    let answers = asked(tree, targets)?;
    let listed: Vec<&Listed> = answers.iter().flatten().collect();
    if listed.is_empty() {
        let failed = answers.into_iter().filter_map(Result::err).collect();
        return Ok(told(args, settings, nothing(failed), None, &service));
    }
    match ask(args, settings, &service, &listed) {
        Ok(answered) => {
            let label = format!("{}@{} in {}", answered.catalog, answered.version, answered.environment);
            let link = answered.page.as_deref().map(|page| service.at(page));
            let at = (label, answered.id, link);
            Ok(told(args, settings, tried(tree, answers, answered), Some(at), &service))
        }
        Err(error)
            if error.code == service::UNREACHABLE
                && settings.on_unreachable == OnUnreachable::UseLockfile =>
        {
            instead(args, tree, answers, calls, settings, &path, error)
        }
        Err(error) if error.code == service::UNREACHABLE => {
            let help =
                format!("{}; `--on-unreachable use-lockfile` lets the lockfile judge meanwhile", error.help);
            Err(error.help(help))
        }
        Err(error) => Err(error),
    }
}

fn ask(
    args: &Args,
    settings: &Service,
    service: &crate::remote::Service,
    listed: &[&Listed],
) -> Result<Answered, AppError> {
    let servers = listed.iter().map(|one| Offered {
        server: &one.name,
        listing: Listing { tools: one.tools.iter().map(|tool| &*tool.raw).collect() },
    });
    let sent = Sent {
        environment: &settings.environment,
        catalog: settings.catalog.as_ref(),
        servers: servers.collect(),
        context: args.remote.build.build(),
        dry_run: args.remote.dry_run,
    };
    let body = serde_json::to_string(&sent).map_err(|e| {
        AppError::new(Kind::Internal, "json", format!("the tools cannot be written as JSON: {e}"))
    })?;
    crate::cli::context::block_on(async {
        let answer = service.post::<Answered>("/api/v1/checks", body, None).await;
        answer.map(|answer| answer.body).map_err(service::failed)
    })
}

fn nothing(failed: Vec<Failed>) -> Tried {
    Tried { judgement: None, failed, evidence: Vec::new(), outdated: Vec::new() }
}

/// What the service said, as a gate tells it.
fn tried(tree: &Tree, answers: Vec<Result<Listed, Failed>>, answered: Answered) -> Tried {
    let Answered { policy, report, earlier, standing, releases, passes, .. } = answered;
    let report = folded(report, &earlier);
    let days = policy.deprecation_days;
    let mut policy: Policy = catalog::Policy {
        assume: policy.assume,
        formats: policy.formats,
        fail_on: policy.fail_on,
        compatibility: policy.compatibility,
        ..catalog::Policy::default()
    }
    .into();
    policy.deprecation_days = days;
    policy.declared_version = tree.settings.policy.declared_version.hardened();
    let (mut listed, mut failed) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(one) => listed.push(one),
            Err(error) => failed.push(error),
        }
    }
    let versions = match policy.declared_version {
        DeclaredVersion::Off => Vec::new(),
        _ => versions(&listed, &report, &releases),
    };
    let standing: BTreeMap<Digest, Standing> =
        standing.into_iter().filter_map(|s| Some((s.change.clone(), stands(s)?))).collect();
    let evidence = listed.into_iter().map(|one| (one.label, one.evidence)).collect();
    let grounds = Grounds { policy, versions, ..Grounds::default() };
    let judgement = judged_elsewhere(report, grounds, &standing);
    if !passes && judgement.blocked.is_none() {
        // Something stands in the way there that this program does not know of.
        let message =
            "the service says that the build does not pass, and names nothing that stands in the way";
        let error = AppError::new(Kind::Unavailable, "unknown-refusal", message)
            .help("look at the page of the check; a newer toolpact may know more");
        failed.push(Failed { name: None, error: Box::new(error) });
    }
    Tried { judgement: Some(judgement), failed, evidence, outdated: Vec::new() }
}

/// How a change stands that does not simply pass.
fn stands(stands: Stands) -> Option<Standing> {
    let Stands { change, blocks, decision, announced } = stands;
    let accepted = decision.as_ref().filter(|d| d.ruling == catalog::review::Ruling::Accept);
    let waiver = accepted.and_then(|d| {
        Some(Waiver {
            fingerprint: change.hex().to_owned(),
            reason: d.reason.clone(),
            expires: d.expires?.date_naive(),
            owner: d.owner.clone(),
        })
    });
    match (blocks.as_deref(), decision, waiver) {
        (None, None, _) => announced.map(|a| Standing::Announced { since: a.since }),
        (None, Some(_), Some(waiver)) => Some(Standing::Waived { waiver }),
        (None, Some(d), None) => Some(Standing::Accepted { by: d.actor, reason: d.reason }),
        (Some("waiver-expired"), _, Some(waiver)) => Some(Standing::Expired { waiver }),
        (Some("rejected"), Some(d), _) => Some(Standing::Rejected { by: d.actor, reason: d.reason }),
        (Some("open"), _, _) => Some(match announced {
            Some(Announced { since, from }) => Standing::TooSoon { since, from },
            None => Standing::Blocks,
        }),
        // Whatever else a later service calls it: it stands in the way.
        (Some(_), _, _) => Some(Standing::Blocks),
    }
}

/// The versions that servers and tools declare, held against what is live and what changed. Like is held against like: what a
/// server said of itself against what it says now.
fn versions(listed: &[Listed], report: &Report, releases: &[Release]) -> Vec<VersionCheck> {
    let of_listed = |one: &Listed| {
        let server = one.name.as_str();
        let was = |tool: Option<&str>| {
            let release = releases.iter().find(|r| r.server == one.name && r.tool.as_deref() == tool)?;
            Some(release.version.clone())
        };
        let now = |tool: &str| declared::of_tool(one.contracts.iter().find(|c| c.name == tool)?.tool());
        let changed = report.tools.iter().filter(|t| t.server == server);
        let of_itself = was(None);
        let said = (of_itself.as_deref(), one.said.as_ref());
        declared::of_server(server, changed, said, |tool| was(Some(tool)), now)
    };
    listed.iter().flat_map(of_listed).collect()
}

/// The lockfile judges, because the service cannot.
fn instead(
    args: &Args,
    tree: &Tree,
    answers: Vec<Result<Listed, Failed>>,
    calls: &Calls,
    settings: &Service,
    path: &str,
    error: AppError,
) -> Result<Told, AppError> {
    let text = tree.lock_text(path)?;
    let Some(text) = text else {
        let message = format!("{}; and there is no lockfile `{path}` to judge by instead", error.message);
        return Err(AppError::new(Kind::Unavailable, service::UNREACHABLE, message)
            .help("repeat when the service answers, or commit a lockfile: `toolpact lock`"));
    };
    let lock = tree::read_lock(path, &text)?;
    let names: Vec<_> = answers
        .iter()
        .map(|answer| match answer {
            Ok(one) => (Some(one.name.clone()), one.target.origin.clone()),
            Err(failed) => (failed.name.clone(), None),
        })
        .collect();
    tree::against(&lock, path, &names)?;
    let policy = &tree.settings.policy;
    let tried = tree::tried(&lock, path, answers, policy, &tree.settings.waivers, calls, today());
    let mut told = Told::of(args.shown(tried), Baseline::Lock(path.to_owned(), lock), args.explain);
    told.service = Some(Asked {
        url: settings.url.clone(),
        environment: settings.environment.clone(),
        check: None,
        link: None,
        unreachable: Some(error.message),
    });
    Ok(told)
}

fn told(
    args: &Args,
    settings: &Service,
    tried: Tried,
    at: Option<(String, Option<i64>, Option<String>)>,
    service: &crate::remote::Service,
) -> Told {
    let (label, check, link) = at.unwrap_or_else(|| (settings.environment.to_string(), None, None));
    let mut told = Told::of(args.shown(tried), Baseline::Elsewhere(label), args.explain);
    told.service = Some(Asked {
        url: service.at(""),
        environment: settings.environment.clone(),
        check,
        link,
        unreachable: None,
    });
    told
}

/// Where the settings of the command line and those of the tree say that a service judges.
pub(super) fn settings(args: &Args, tree: &Tree) -> Result<Option<Service>, AppError> {
    let said = &args.remote;
    let mut service = match (&said.service, &tree.settings.service) {
        // Whoever names the service says all of it: what the tree says may come with the change that is judged.
        (Some(url), _) => {
            let Some(environment) = said.environment.clone() else {
                let message = "a service is named, and no environment to hold the build against";
                return Err(AppError::new(Kind::Invalid, "no-environment", message)
                    .help("say which: `--environment production`"));
            };
            Service { url: url.clone(), environment, catalog: None, on_unreachable: OnUnreachable::default() }
        }
        (None, Some(_)) if args.baseline.is_some() || said.offline => return Ok(None),
        (None, Some(of_tree)) => of_tree.clone(),
        (None, None) if said.environment.is_some() => {
            let message = "an environment is named, and no service that knows it";
            return Err(AppError::new(Kind::Invalid, "no-service", message)
                .help("name it: `--service URL`, or `service` in toolpact.yaml; a local database is `--baseline ENVIRONMENT`"));
        }
        (None, None) => return Ok(None),
    };
    if let Some(environment) = &said.environment {
        service.environment = environment.clone();
    }
    service.catalog = said.catalog.clone().or(service.catalog);
    if let Some(other) = said.on_unreachable {
        service.on_unreachable = other.into();
    }
    let softens = [
        ("--fail-on", args.fail_on.is_some()),
        ("--assume", args.assume.is_some()),
        ("--format-policy", args.format_policy.is_some()),
        ("--calls", !args.calls.file().is_empty()),
    ];
    if let Some((flag, _)) = softens.iter().find(|(_, given)| *given) {
        let message = format!(
            "`{flag}` cannot be said where a service judges, by the policy of `{}`",
            service.environment
        );
        return Err(AppError::new(Kind::Invalid, "policy-of-service", message)
            .help("leave it out; the policy is set at the service. `--offline` judges by the lockfile"));
    }
    Ok(Some(service))
}
