//! The pattern of a text changed.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, brief},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "pattern-changed",
    surfaces: SCHEMA,
    what: "The pattern of a text was added, removed or changed.",
    why: "Input: texts that the new pattern does not take are rejected. Output: consumers meet texts the old pattern ruled out.",
    instead: "Accept both forms, and normalise inside the tool.",
    cases: include_str!("pattern_changed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let subject = pair.subject();
    let (effect, message) = match pair.both("pattern") {
        (None, Some(after)) => (Effect::Narrowed, format!("{subject} has to match {} now", brief(after))),
        (Some(before), None) => (Effect::Widened, format!("{subject} need not match {} any more", brief(before))),
        (Some(before), Some(after)) if before != after => {
            (Effect::Unknown, format!("the pattern of {subject} went from {} to {}", brief(before), brief(after)))
        }
        _ => return,
    };
    out.push(pair.change("pattern-changed", "pattern", effect, message));
}
