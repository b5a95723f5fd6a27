//! A hint that let callers relax is withdrawn.

use super::{Check, Remark, Rule, Tools};
use crate::{
    contract::{Hints, effective_hints},
    diff::finding::{Level, Surface},
};

pub(super) const RULE: Rule = Rule {
    id: "hint-weakened",
    surfaces: &[Surface::Annotations],
    what: "A tool is no longer read-only, or may destroy, is no longer idempotent, or reaches into an open world. Absent \
           hints have the protocol's defaults.",
    why: "Hosts that skipped confirmation, retried, or let the tool near private data because of the hint do so wrongly now.",
    instead: "Publish the acting tool beside the reading one.",
    cases: include_str!("hint_weakened.yaml"),
    check: Check::Tool(check),
};

/// A hint's name, its value, and the value that lets callers relax.
pub(super) fn each(hints: Hints) -> [(&'static str, bool, bool); 4] {
    [
        ("readOnlyHint", hints.read_only, true),
        ("destructiveHint", hints.destructive, false),
        ("idempotentHint", hints.idempotent, true),
        ("openWorldHint", hints.open_world, false),
    ]
}

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    changed(tools, RULE.id, Level::Breaking, out);
}

/// Hints that changed away from (or towards) the relaxing value.
pub(super) fn changed(tools: &Tools<'_>, rule: &'static str, level: Level, out: &mut Vec<Remark>) {
    let hints = |c: &crate::contract::Contract| effective_hints(c.tool().get("annotations"));
    let (before, after) = (hints(tools.baseline), hints(tools.candidate));
    // The other two follow from `readOnlyHint`, so its change is told once.
    let told = before.read_only != after.read_only;
    for ((name, was, relaxing), (_, is, _)) in each(before).into_iter().zip(each(after)) {
        let follows = told && matches!(name, "destructiveHint" | "idempotentHint");
        let weaker = was == relaxing;
        if was == is || follows || weaker != (level == Level::Breaking) {
            continue;
        }
        let message = format!("`{name}` is {is} now, it was {was}");
        let remark = Remark::new(rule, level, Surface::Annotations, &format!("/{name}"), message);
        let remark = remark.values(Some(was.into()), Some(is.into()));
        out.push(if level == Level::Breaking {
            remark.help("publish the acting tool under a name of its own, beside this one")
        } else {
            remark
        });
    }
}
