//! What becomes of recorded calls: how many a release would have broken.

use std::{cmp::Reverse, fmt::Write};

use super::name;
use crate::diff::{RecordedCalls, Report, ToolCalls, ToolReport};

/// A line for each tool with broken calls, the most broken first, and one for all.
pub(super) fn calls(out: &mut String, report: &Report, all: &RecordedCalls) {
    let mut tools: Vec<(&ToolReport, ToolCalls)> =
        report.tools.iter().filter_map(|tool| Some((tool, tool.calls?))).collect();
    tools.sort_by_key(|(_, calls)| Reverse(calls.broken));
    for (tool, ToolCalls { recorded, broken, .. }) in tools.iter().filter(|(_, calls)| calls.broken > 0) {
        let (tool, verb) = (name(&tool.server, &tool.tool), if *broken == 1 { "is" } else { "are" });
        _ = writeln!(
            out,
            "  calls: {broken} of {recorded} recorded calls of {tool} {verb} rejected by the candidate"
        );
    }
    let mut line = match (all.recorded, all.broken) {
        (0, _) => "none recorded".to_owned(),
        (recorded, 0) => format!("{recorded} recorded, none rejected by the candidate alone"),
        (recorded, broken) => format!("{recorded} recorded, {broken} rejected by the candidate alone"),
    };
    let before = tools.iter().map(|(_, calls)| calls.rejected_before).sum();
    for (count, what) in [
        (before, "rejected by the baseline already"),
        (all.unmatched, "of tools that the baseline does not list"),
        (all.skipped, "other messages skipped"),
    ] {
        if count > 0 {
            _ = write!(line, "; {what}: {count}");
        }
    }
    _ = writeln!(out, "  calls: {line}");
}
