//! What a document says of what blocks: `policy` and `environments`.

use std::collections::BTreeMap;

use super::node::{At, Fault, Fields, Node};
use crate::{
    catalog::{
        EnvironmentPolicy, Policy,
        policy::{Against, Direction, Probe, order},
    },
    diff::{Assumption, Formats, Level},
    name::{EnvironmentName, InvalidName, ServerName},
};

const POLICY: [&str; 8] =
    ["assume", "formats", "failOn", "compatibility", "against", "approvals", "maxTools", "deprecationDays"];
const ENVIRONMENT: [&str; 12] = [
    "after",
    "assume",
    "formats",
    "failOn",
    "rollbackFailOn",
    "compatibility",
    "against",
    "approvals",
    "maxTools",
    "deprecationDays",
    "probe",
    "servers",
];

/// A catalog's policy; what it leaves out is the default.
pub(super) fn read(at: &At<'_>) -> Result<Policy, Fault> {
    let fields = at.fields("a policy", &POLICY)?;
    let said = said(&fields)?;
    Ok(said.over(&Policy::default()))
}

/// What environments demand, by name.
pub(super) fn environments(at: &At<'_>) -> Result<BTreeMap<EnvironmentName, EnvironmentPolicy>, Fault> {
    let mut all = BTreeMap::new();
    let entries = at.entries("names of environments with what each demands")?;
    for (name, at) in &entries {
        let name: EnvironmentName = name.parse().map_err(|e: InvalidName| at.key_fault(e.to_string()))?;
        let policy = if matches!(at.node, Node::Null) {
            EnvironmentPolicy::default()
        } else {
            environment(&at.fields("what an environment demands", &ENVIRONMENT)?)?
        };
        all.insert(name, policy);
    }
    if let Err((name, cause)) = order(&all) {
        let place = entries.iter().find(|(n, _)| *n == name.as_str()).map_or(at, |(_, at)| at);
        return Err(place.fault(format!("environment `{name}` {cause}")));
    }
    Ok(all)
}

fn environment(fields: &Fields<'_>) -> Result<EnvironmentPolicy, Fault> {
    let mut policy = said(fields)?;
    policy.after = fields.get("after").map(|at| at.parse("an environment's name")).transpose()?;
    if let Some(at) = fields.get("rollbackFailOn") {
        policy.rollback_fail_on = levels(&at)?;
    }
    if let Some(at) = fields.get("probe") {
        policy.probe = at.word(&[Probe::Require, Probe::Record, Probe::Skip], Probe::as_str)?;
    }
    if let Some(at) = fields.get("servers") {
        for (name, at) in at.entries("servers with the registered server that serves their tools here")? {
            let name: ServerName = name.parse().map_err(|e: InvalidName| at.key_fault(e.to_string()))?;
            policy.servers.insert(name, at.parse("a server's name")?);
        }
    }
    Ok(policy)
}

/// What both kinds of policy can say.
fn said(fields: &Fields<'_>) -> Result<EnvironmentPolicy, Fault> {
    let mut policy = EnvironmentPolicy::default();
    if let Some(at) = fields.get("assume") {
        policy.assume = Some(at.word(&[Assumption::Declared, Assumption::Strict], Assumption::as_str)?);
    }
    if let Some(at) = fields.get("formats") {
        let words = [Formats::Assert, Formats::Annotate, Formats::Risky];
        policy.formats = Some(at.word(&words, |f: Formats| f.as_str())?);
    }
    policy.fail_on = fields.get("failOn").map(|at| levels(&at)).transpose()?;
    if let Some(at) = fields.get("compatibility") {
        let words = [Direction::Input, Direction::Output, Direction::Full];
        policy.compatibility = Some(at.word(&words, Direction::as_str)?);
    }
    if let Some(at) = fields.get("against") {
        let words = [Against::Latest, Against::SinceMajor, Against::EverLive];
        policy.against = Some(at.word(&words, Against::as_str)?);
    }
    policy.approvals = fields.get("approvals").map(|at| at.count("a number of people")).transpose()?;
    policy.max_tools = fields.get("maxTools").map(|at| at.count("a number of tools")).transpose()?;
    policy.deprecation_days =
        fields.get("deprecationDays").map(|at| at.count("a number of days")).transpose()?;
    Ok(policy)
}

fn levels(at: &At<'_>) -> Result<Vec<Level>, Fault> {
    let words = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible];
    at.list("levels")?.iter().map(|level| level.word(&words, |l| l.as_str())).collect()
}
