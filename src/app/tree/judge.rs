//! What the servers of a tree list, held against its lockfile.

use chrono::NaiveDate;

use super::{Failed, Listed};
use crate::{
    app::{AppError, Kind},
    diff::{Calls, Report, Side, diff_with_calls},
    gate::{
        Declared, Grounds, Judgement, Lock, Policy, VersionCheck, Waiver, declared,
        judge::{announced, judge},
        policy::DeclaredVersion,
    },
    name::ServerName,
    snapshot::Evidence,
};

/// A gate that was tried: what was judged, and what could not be.
#[derive(Debug)]
pub struct Tried {
    /// What was judged; nothing where nothing could be.
    pub judgement: Option<Judgement>,
    /// Servers that could not be asked. With any of them the gate never passes.
    pub failed: Vec<Failed>,
    /// How the listings went that ended well, by label.
    pub evidence: Vec<(String, Evidence)>,
    /// What the servers list, as the lockfile would have to say it to be up to date: names of servers.
    pub outdated: Vec<ServerName>,
}

/// Whether the lockfile and what was listed are of the same servers.
///
/// # Errors
/// Where a server is in one of them alone; with the next step.
pub fn against(
    lock: &Lock,
    path: &str,
    names: &[(Option<ServerName>, Option<String>)],
) -> Result<(), AppError> {
    for (name, origin) in names {
        let Some(name) = name.as_ref().filter(|n| lock.server(n).is_none()) else { continue };
        let origin = origin.as_deref().map_or(String::new(), |origin| format!(" of `{origin}`"));
        let known: Vec<String> = lock.servers.iter().map(|s| format!("`{}`", s.name)).collect();
        let message = format!("server `{name}`{origin} is not in `{path}`, which has {}", listed(&known));
        return Err(AppError::new(Kind::Invalid, "not-locked", message)
            .help("put it there with `toolpact lock`, or say with `--server NAME` which one it is"));
    }
    Ok(())
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no server".to_owned() } else { names.join(", ") }
}

/// Judges what was listed against the lockfile. Servers that could not be asked are on neither side: that one is down
/// must never read as its tools being gone.
#[must_use]
pub fn tried(
    lock: &Lock,
    label: &str,
    answers: Vec<Result<Listed, Failed>>,
    policy: &Policy,
    waivers: &[Waiver],
    calls: &Calls,
    today: NaiveDate,
) -> Tried {
    let (mut asked, mut failed) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(listed) => asked.push(listed),
            Err(error) => failed.push(error),
        }
    }
    let mut outdated = Vec::new();
    let mut baseline = Side { label: label.to_owned(), servers: Vec::new() };
    let mut candidate = Side {
        label: match asked.as_slice() {
            [one] => one.label.clone(),
            several => format!("{} servers", several.len()),
        },
        servers: Vec::new(),
    };
    let mut evidence = Vec::new();
    let mut declared: Vec<(ServerName, Option<Declared>)> = Vec::new();
    for listed in asked {
        let locked = lock.server(&listed.name);
        let contracts: Vec<_> = locked.iter().flat_map(|s| &s.tools).map(|t| t.contract.clone()).collect();
        let same = contracts.len() == listed.contracts.len()
            && listed.contracts.iter().all(|c| contracts.iter().any(|l| l.name == c.name && l.same_raw(c)));
        if !same {
            outdated.push(listed.name.clone());
        }
        baseline.servers.push((Some(listed.name.clone()), contracts));
        candidate.servers.push((Some(listed.name.clone()), listed.contracts));
        evidence.push((listed.label, listed.evidence));
        declared.push((listed.name, listed.declared));
    }
    if baseline.servers.is_empty() {
        return Tried { judgement: None, failed, evidence, outdated };
    }
    let report = diff_with_calls(&baseline, &candidate, policy.options(), calls);
    let versions = versions(lock, &candidate, &report, &declared, policy);
    let grounds =
        Grounds { policy: policy.clone(), waivers: waivers.to_vec(), announced: announced(lock), versions };
    // The process ends soon; giving long lists back piece by piece takes its time.
    std::mem::forget((baseline, candidate));
    Tried { judgement: Some(judge(report, grounds, today)), failed, evidence, outdated }
}

/// The versions that servers and tools declare, held against what changed.
fn versions(
    lock: &Lock,
    candidate: &Side,
    report: &Report,
    declared: &[(ServerName, Option<Declared>)],
    policy: &Policy,
) -> Vec<VersionCheck> {
    if policy.declared_version == DeclaredVersion::Off {
        return Vec::new();
    }
    let mut checks = Vec::new();
    for (name, declared) in declared {
        let (Some(locked), server) = (lock.server(name), name.as_str()) else { continue };
        let changed = report.tools.iter().filter(|t| t.server == server);
        let before = |tool: &str| {
            let was = locked.tools.iter().find(|t| t.contract.name == tool)?;
            Some(declared::of_tool(was.contract.tool())?.version)
        };
        let now = |tool: &str| {
            let mut contracts = candidate.servers.iter().filter(|(n, _)| n.as_ref() == Some(name));
            declared::of_tool(contracts.find_map(|(_, all)| all.iter().find(|c| c.name == tool))?.tool())
        };
        let said = (locked.version.as_deref(), declared.as_ref());
        checks.extend(declared::of_server(server, changed, said, before, now));
    }
    checks
}
