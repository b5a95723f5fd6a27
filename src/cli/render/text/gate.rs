//! A gate for people: what changed, what to do next, and as its last line the decision.

use std::fmt::Write;

use super::{Beside, Style, deviations, error, in_full, name, rest, safe};
use crate::{
    cli::render::gate::{Baseline, Told},
    diff::{Finding, Level, ToolReport, rules},
    gate::{Blocked, Judgement, Standing, VersionCheck, judge::VERSION_TOO_LOW, waiver},
};

/// How much of a fingerprint is shown: as much as a waiver needs.
const DIGITS: usize = 12;

/// A gate.
pub(in crate::cli) fn gate(told: &Told, style: Style) -> String {
    let mut out = String::new();
    for (label, evidence) in &told.evidence {
        let mut left = String::new();
        deviations(&mut left, evidence);
        if !left.is_empty() {
            _ = write!(out, "listing: `{}` left the protocol\n{left}\n", safe::word(label));
        }
    }
    if let Some((service, cause)) = told.service.as_ref().and_then(|s| Some((s, s.unreachable.as_ref()?))) {
        let (url, cause) = (safe::word(&service.url), safe::line(cause, 300));
        _ = writeln!(
            out,
            "note: service `{url}` could not be reached: {cause}; judged by the lockfile instead"
        );
    }
    if !told.is_silent() {
        for failed in &told.failed {
            out.push_str(&error(&failed.error));
        }
        if let Some(judgement) = &told.judgement {
            out.push_str(&changes(told, judgement, style));
        }
    }
    out.push_str(&decision(told, style));
    out
}

fn changes(told: &Told, judgement: &Judgement, style: Style) -> String {
    let report = &judgement.report;
    let mut out = String::new();
    let mut explained: Vec<&str> = Vec::new();
    for (tool, finding, standing) in judgement.findings() {
        if finding.level == Level::Compatible && !standing.blocks() {
            continue;
        }
        let mut beside = beside(judgement, tool, finding, standing);
        if told.explain && !explained.contains(&finding.rule.as_str()) {
            explained.push(&finding.rule);
            if let Some(rule) = rules::find(&finding.rule) {
                beside.rows.push(("why", rule.why.to_owned()));
                beside.rows.push(("instead", rule.instead.to_owned()));
            }
        }
        in_full(&mut out, tool, finding, &beside, style);
    }
    let mut out = rest(out, report, style);
    for version in judgement.low_versions() {
        _ = writeln!(out, "  version: {}", too_low(version));
    }
    for waiver in &judgement.unused {
        _ = writeln!(
            out,
            "note: the waiver of {} ({}) is not needed any more; remove it",
            waiver.fingerprint,
            safe::word(&waiver.reason)
        );
    }
    next(&mut out, told, judgement);
    out
}

/// `package.json declares 1.5.0, needs 2.0.0 (major)`.
fn too_low(version: &VersionCheck) -> String {
    let VersionCheck { tool, place, declared, needed, bump, .. } = version;
    let tool = tool.as_ref().map_or(String::new(), |tool| format!("tool `{}`: ", safe::word(tool)));
    format!("{tool}{} declares {}, needs {needed} ({bump})", safe::word(place), safe::word(declared))
}

fn beside(judgement: &Judgement, tool: &ToolReport, finding: &Finding, standing: &Standing) -> Beside {
    let mut beside = Beside::of(tool, finding);
    if let (Some(_), Some(version)) = (&beside.needs, judgement.version_of(&tool.server)) {
        let VersionCheck { needed, declared, place, .. } = version;
        beside.needs = Some(format!("{needed}, declared {} ({})", safe::word(declared), safe::word(place)));
    }
    let mut row = |what, text| beside.rows.push((what, text));
    match standing {
        Standing::Passes => {}
        Standing::Blocks if finding.absolute => row("change", "is never waived".to_owned()),
        Standing::Blocks => row("change", short(finding)),
        Standing::Waived { waiver } => {
            row("waived", format!("until {}: {}", waiver.expires, safe::word(&waiver.reason)));
        }
        Standing::Expired { waiver } => {
            let owner = waiver.owner.as_ref().map_or(String::new(), |o| format!(" of {}", safe::word(o)));
            let reason = safe::word(&waiver.reason);
            row("waiver", format!("{}{owner} ended on {}: {reason}", short(finding), waiver.expires));
        }
        Standing::Announced { since } => row("announced", format!("since {since}, long enough")),
        Standing::TooSoon { since, from } => {
            row("change", short(finding));
            row("announced", format!("since {since}; it may come from {from} on"));
        }
        Standing::Versioned { version } => {
            row("allowed", format!("by the declared version {}", safe::word(version)))
        }
        Standing::Accepted { by, reason } => {
            row("accepted", format!("by {}: {}", safe::word(by), safe::word(reason)))
        }
        Standing::Rejected { by, reason } => {
            row("change", short(finding));
            row("rejected", format!("by {}: {}", safe::word(by), safe::word(reason)));
        }
    }
    beside
}

fn short(finding: &Finding) -> String {
    waiver::digits(&finding.fingerprint).chars().take(DIGITS).collect()
}

/// What to do, where there is something to do.
fn next(out: &mut String, told: &Told, judgement: &Judgement) {
    let accept = match &told.at {
        Baseline::Lock(path, _) => format!("`toolpact lock --update` takes it into {}", safe::word(path)),
        Baseline::File(path) => format!("write {} anew", safe::word(path)),
        Baseline::Elsewhere(_) => match told.service.as_ref().and_then(|s| s.link.as_ref()) {
            Some(link) => format!("have it accepted at {}", safe::word(link)),
            None => "have it reviewed".to_owned(),
        },
    };
    if judgement.blocked.is_none() {
        if let Some(link) = told.service.as_ref().and_then(|s| s.link.as_ref()) {
            _ = writeln!(out, "check: {}", safe::word(link));
        }
        if !told.outdated.is_empty() && matches!(told.at, Baseline::Lock(..)) {
            _ = writeln!(out, "next: {accept}");
        }
        return;
    }
    let blocking = || judgement.findings().filter(|(_, _, standing)| standing.blocks()).map(|(_, f, _)| f);
    let waivable = blocking().find(|f| !f.absolute);
    if waivable.is_some() {
        _ = writeln!(out, "next: keep what callers rely on; or, where they have moved, {accept}");
    }
    // These stop the gate whatever is accepted.
    if blocking().any(|f| f.absolute) {
        _ = writeln!(out, "next: mend what is never waived");
    }
    if blocking().next().is_none() {
        for VersionCheck { place, needed, .. } in judgement.low_versions() {
            _ = writeln!(out, "next: declare {needed} in {}", safe::word(place));
        }
    }
    if let (Some(finding), Baseline::Lock(..) | Baseline::File(_)) = (waivable, &told.at) {
        let fingerprint = short(finding);
        _ = writeln!(
            out,
            "  or let it pass until a day, under `waivers` in toolpact.yaml: \
             {{fingerprint: \"{fingerprint}\", reason: why, expires: YYYY-MM-DD}}"
        );
    }
}

/// The last line. Where another judged than was asked, it says so.
pub(in crate::cli) fn decision(told: &Told, style: Style) -> String {
    let line = decided(told, style);
    match told.service.as_ref().filter(|service| service.unreachable.is_some()) {
        Some(_) => format!("{}; by the lockfile, for the service could not be reached\n", line.trim_end()),
        None => line,
    }
}

fn decided(told: &Told, style: Style) -> String {
    if let Some((judgement, blocked)) = told.judgement.as_ref().and_then(|j| Some((j, j.blocked.as_ref()?))) {
        let more = match judgement.blocking.saturating_sub(1) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let blocked = blocked_by(judgement, blocked);
        return format!("gate: {} by {blocked}{more}\n", style.painted("blocked", "1;31"));
    }
    if !told.failed.is_empty() {
        let names: Vec<String> =
            told.failed.iter().flat_map(|f| &f.name).map(|name| format!("`{name}`")).collect();
        let of = if names.is_empty() { String::new() } else { format!(" for {}", names.join(", ")) };
        return format!(
            "gate: {}{of}; nothing is known of what changed there\n",
            style.painted("could not run", "1;31")
        );
    }
    let passed = style.painted("passed", "1;32");
    let Some(judgement) = &told.judgement else { return format!("gate: {passed}\n") };
    let report = &judgement.report;
    let tools = report.tools.len() + report.unchanged;
    let what = match (report.tools.len(), told.is_silent()) {
        (0, _) => "nothing changed".to_owned(),
        (differ, true) => format!("nothing changed that callers rely on; {differ} written otherwise"),
        (differ, false) => format!("{differ} changed, nothing that blocks"),
    };
    format!("gate: {passed}; {what} ({tools} {})\n", if tools == 1 { "tool" } else { "tools" })
}

fn blocked_by(judgement: &Judgement, blocked: &Blocked) -> String {
    let Blocked { rule, level, server, tool } = blocked;
    if rule == VERSION_TOO_LOW {
        let low = judgement.grounds.versions.iter().find(|v| !v.enough);
        return format!("{rule}: {}", low.map(too_low).unwrap_or_default());
    }
    format!("{rule} ({level}): {}", name(server, tool))
}
