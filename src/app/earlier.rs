//! Compatibility that reaches further back than the newest version.

use std::collections::{BTreeSet, HashSet};

use super::{App, AppError, check::compared, sides::Unpinned};
use crate::{
    catalog::{CatalogVersion, Content, Member, Version, policy::Against},
    contract::Contract,
    diff::{Options, Report, Side},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// Of older versions, the contracts that somebody may still rely on under a policy and that `base` does not hold, each in
/// the newest version that held it. `live` are the numbers of what was ever live.
pub(super) fn scope(
    against: Against,
    base: &Version,
    older: &[Version],
    live: &BTreeSet<CatalogVersion>,
) -> Vec<Version> {
    let major = |member: &Member| member.contract_version.0.major;
    let in_base = |member: &Member| {
        base.content.members.iter().find(|b| b.server == member.server && b.tool == member.tool)
    };
    let mut seen: HashSet<(Option<&ServerName>, &str, &Digest)> = HashSet::new();
    let raw = |member: &Member| member.digests.as_ref().map(|d| d.raw.clone());
    let mut scope = Vec::new();
    for version in older.iter().filter(|v| v.version != base.version) {
        let relied_on = |member: &&Member| match (against, in_base(member)) {
            (Against::Latest, _) => false,
            (Against::SinceMajor, Some(now)) => major(now) == major(member) && raw(now) != raw(member),
            (Against::SinceMajor, None) => false,
            (Against::EverLive, now) => {
                live.contains(&version.version) && now.is_none_or(|n| raw(n) != raw(member))
            }
        };
        let mut members = Vec::new();
        for member in version.content.members.iter().filter(relied_on) {
            let Some(digests) = &member.digests else { continue };
            if seen.insert((member.server.as_ref(), &member.tool, &digests.raw)) {
                members.push(member.clone());
            }
        }
        if !members.is_empty() {
            let content = Content { members, ..version.content.clone() };
            scope.push(Version { content, ..version.clone() });
        }
    }
    scope
}

impl App {
    /// A report against each of these versions, of the tools that the candidate still has. What is the same makes none.
    pub(super) async fn against_earlier(
        &self,
        older: &[Version],
        candidate: &Side,
        options: Options,
    ) -> Result<Vec<Report>, AppError> {
        let mut reports = Vec::new();
        for version in older {
            let label = format!("{}@{}", version.catalog, version.version);
            let baseline = self.version_side(&label, version, Unpinned::LeaveOut).await?;
            // Both sides hold the same names: what is gone or new is told against the newest version, once.
            let baseline = common(&baseline, candidate);
            let candidate = common(candidate, &baseline);
            let report = compared(baseline, candidate, options).await?;
            if !report.tools.is_empty() {
                reports.push(report);
            }
        }
        Ok(reports)
    }

    /// The versions of a catalog that were ever live, in one environment or in any.
    pub(super) async fn ever_live(
        &self,
        catalog: &CatalogName,
        environment: Option<&EnvironmentName>,
    ) -> Result<BTreeSet<CatalogVersion>, AppError> {
        Ok(self.store.ever_live(catalog, environment).await?.into_iter().collect())
    }
}

/// A side without the tools that the other does not name.
fn common(side: &Side, other: &Side) -> Side {
    let named: HashSet<(Option<&ServerName>, &str)> = other
        .servers
        .iter()
        .flat_map(|(server, contracts)| contracts.iter().map(move |c| (server.as_ref(), c.name.as_str())))
        .collect();
    let servers = side.servers.iter().map(|(server, contracts)| {
        let held = |c: &&Contract| named.contains(&(server.as_ref(), c.name.as_str()));
        (server.clone(), contracts.iter().filter(held).cloned().collect())
    });
    Side { label: side.label.clone(), servers: servers.collect() }
}
