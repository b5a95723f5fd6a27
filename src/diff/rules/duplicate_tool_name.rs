//! A list names a tool twice.

use super::{Check, Remark, Rule};
use crate::diff::finding::{Level, Surface};

pub(super) const RULE: Rule = Rule {
    id: "duplicate-tool-name",
    surfaces: &[Surface::Listing],
    what: "The candidate's list names a tool more than once.",
    why: "Clients disagree on which entry counts: some take the first, some the last, some refuse the list. Never waived.",
    instead: "Give every tool a name of its own (MCP 2025-11-25, server/tools, tool names).",
    cases: include_str!("duplicate_tool_name.yaml"),
    check: Check::Engine,
};

/// The remark. `conflicting` entries have different contracts.
pub(crate) fn remark(name: &str, times: usize, conflicting: bool) -> Remark {
    let (level, how) = if conflicting {
        (Level::Breaking, "with different contracts")
    } else {
        (Level::Risky, "with the same contract")
    };
    let message = format!("tool `{name}` is listed {times} times {how}; tool names must be unique in a list");
    Remark { absolute: true, ..Remark::new(RULE.id, level, Surface::Listing, "", message).help("rename or remove one of them") }
}
