//! From snapshots to a draft: which members, which contractVersions.
//!
//! The report says what each change means; here it only becomes numbers and words. Nothing is judged a second time.

use std::collections::BTreeSet;

use super::{Compatibility, Content, ContractVersion, Member, ReleaseStatus, ServerPin, Version};
use crate::{
    contract::Contract,
    diff::{Bump, Level, Report, ToolReport},
    name::ServerName,
};

/// A text that is no draft's number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no draft; drafts are numbered, such as d-31")]
pub struct InvalidDraft(pub String);

/// A draft's number as people see it, `d-31`, or bare.
///
/// # Errors
/// Where the text is neither.
pub fn number(text: &str) -> Result<i64, InvalidDraft> {
    let digits = text.strip_prefix("d-").unwrap_or(text);
    digits.parse().ok().filter(|id| *id > 0).ok_or_else(|| InvalidDraft(text.to_owned()))
}

/// What one server offers now.
#[derive(Debug, Clone)]
pub struct Release {
    /// The snapshot.
    pub pin: ServerPin,
    /// Its contracts, in the server's order.
    pub contracts: Vec<Contract>,
}

/// A tool that was gone from a catalog and is back.
#[derive(Debug)]
pub struct Returned<'v> {
    /// Whose it is.
    pub server: ServerName,
    /// What it was, in the newest version that had it.
    pub before: &'v Member,
    /// What it is.
    pub contract: &'v Contract,
}

/// The tools of these releases that `previous` has not and one of the `older` versions, newest first, had.
#[must_use]
pub fn returned<'v>(previous: &Version, older: &'v [Version], releases: &'v [Release]) -> Vec<Returned<'v>> {
    let of = |release: &'v Release| {
        let (server, mut seen) = (&release.pin.server, BTreeSet::new());
        // Of a name that is listed twice the draft shows the first.
        let newcomers = release
            .contracts
            .iter()
            .filter(move |c| seen.insert(&c.name) && find(previous, server, &c.name).is_none());
        newcomers.filter_map(move |contract| {
            let before = older.iter().find_map(|version| find(version, server, &contract.name))?;
            Some(Returned { server: server.clone(), before, contract })
        })
    };
    releases.iter().flat_map(of).collect()
}

/// What a draft of these releases would hold. `report` is their diff against `previous`, and `again` that of the tools that
/// came back ([`returned`]) against what they were; `older` are the catalog's versions before, newest first.
///
/// - An unchanged contract keeps its version; a changed one gets the bump that its report requires.
/// - A tool that was never here begins at 1.0.0.
/// - A tool that comes back continues from the version it had, in the same way; where nobody could compare the two because
///   the older text is not kept, with a new major, unless both are the same to the letter.
/// - A member that a document named without pinning it is pinned now, with the version and the word that the document
///   promised.
#[must_use]
pub fn content(
    previous: Option<&Version>,
    older: &[Version],
    releases: &[Release],
    report: &Report,
    again: &Report,
) -> Content {
    let mut members = Vec::new();
    for release in releases {
        let server = &release.pin.server;
        let mut seen = BTreeSet::new();
        // A name that is listed twice is a finding that blocks; the draft shows the first.
        for contract in release.contracts.iter().filter(|c| seen.insert(c.name.clone())) {
            let before = previous.and_then(|v| find(v, server, &contract.name));
            let (contract_version, compatibility) = match before {
                Some(member) => continued(member, contract, report_of(report, server, &contract.name)),
                None => match older.iter().find_map(|v| find(v, server, &contract.name)) {
                    Some(member) => continued(member, contract, report_of(again, server, &contract.name)),
                    None => (ContractVersion::first(), Compatibility::Initial),
                },
            };
            members.push(Member {
                server: Some(server.clone()),
                tool: contract.name.clone(),
                contract_version,
                compatibility,
                status: before.map_or(ReleaseStatus::default(), |m| m.status),
                digests: Some(contract.digests().clone()),
            });
        }
    }
    members.sort_by(|a, b| (&a.server, &a.tool).cmp(&(&b.server, &b.tool)));
    let mut servers: Vec<ServerPin> = releases.iter().map(|r| r.pin.clone()).collect();
    servers.sort_by(|a, b| a.server.cmp(&b.server));
    Content::new(members, servers)
}

/// Whether these releases have a tool that `previous` has not, so that older versions matter.
#[must_use]
pub fn has_newcomers(previous: &Version, releases: &[Release]) -> bool {
    releases.iter().any(|r| r.contracts.iter().any(|c| find(previous, &r.pin.server, &c.name).is_none()))
}

/// The member for a server's tool; one that names no server stands for any.
fn find<'v>(version: &'v Version, server: &ServerName, tool: &str) -> Option<&'v Member> {
    let members = &version.content.members;
    members
        .iter()
        .find(|m| m.tool == tool && m.server.as_ref() == Some(server))
        .or_else(|| members.iter().find(|m| m.tool == tool && m.server.is_none()))
}

fn report_of<'r>(report: &'r Report, server: &ServerName, tool: &str) -> Option<&'r ToolReport> {
    report.tools.iter().find(|t| t.tool == tool && (t.server == server.as_str() || t.server.is_empty()))
}

fn continued(
    before: &Member,
    contract: &Contract,
    report: Option<&ToolReport>,
) -> (ContractVersion, Compatibility) {
    let kept = before.contract_version.clone();
    let Some(digests) = &before.digests else { return (kept, before.compatibility) };
    match report {
        Some(tool) if tool.required_bump == Bump::None && tool.verdict == Level::Compatible => {
            (kept, Compatibility::Unchanged)
        }
        Some(tool) => (kept.bumped(tool.required_bump), word(tool.verdict)),
        None if digests.raw == contract.digests().raw => (kept, Compatibility::Unchanged),
        // A difference that the report does not speak of was not proved harmless.
        None => (kept.bumped(Bump::Major), Compatibility::Undecided),
    }
}

fn word(verdict: Level) -> Compatibility {
    match verdict {
        Level::Compatible => Compatibility::BackwardCompatible,
        Level::Risky => Compatibility::Risky,
        Level::Undecided => Compatibility::Undecided,
        Level::Breaking => Compatibility::Breaking,
    }
}
