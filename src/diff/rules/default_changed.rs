//! What happens when a parameter is left out changed.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, brief},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "default-changed",
    surfaces: SCHEMA,
    what: "The `default` of a place was added, removed or changed.",
    why: "Input: no call is rejected, but one that leaves the parameter out gets something else. Output: nothing.",
    instead: "Keep the default; name the new behaviour by a new value.",
    cases: include_str!("default_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    if pair.same("default") {
        return;
    }
    let subject = pair.subject();
    let (effect, message) = match pair.both("default") {
        // It only says now what happened before, as far as anyone can tell.
        (None, Some(after)) => (Effect::Same, format!("{subject} has the default {} now", brief(after))),
        (Some(before), None) => (Effect::Shifted, format!("{subject} has no default any more (it was {})", brief(before))),
        (before, after) => {
            let text = |v: Option<&serde_json::Value>| v.map(brief).unwrap_or_default();
            (Effect::Shifted, format!("the default of {subject} went from {} to {}", text(before), text(after)))
        }
    };
    out.push(pair.change("default-changed", "default", effect, message));
}
