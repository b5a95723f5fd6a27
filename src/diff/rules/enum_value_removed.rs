//! A place takes fewer of the listed values, or only listed ones from now on.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::{
    diff::{
        change::{Change, Pair, brief, brief_list},
        effect::Effect,
    },
    json,
};

pub(super) const RULE: Rule = Rule {
    id: "enum-value-removed",
    surfaces: SCHEMA,
    what: "A place no longer takes a value that was listed, or takes only listed values from now on.",
    why: "Input: callers that send the value are rejected. Output: consumers lose nothing.",
    instead: "Keep the value and map it to what replaces it.",
    cases: include_str!("enum_value_removed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let Some(Value::Array(after)) = pair.candidate.get("enum") else { return };
    let message = match pair.baseline.get("enum") {
        Some(Value::Array(before)) => {
            let gone: Vec<&Value> = before.iter().filter(|v| !after.iter().any(|w| json::equal(v, w))).collect();
            if gone.is_empty() {
                return;
            }
            // One for one is a new spelling more often than not.
            let mut come = after.iter().filter(|v| !before.iter().any(|w| json::equal(v, w)));
            let renamed = match (gone.len(), come.next(), come.next()) {
                (1, Some(new), None) => format!("; {} may be its new name", brief(new)),
                _ => String::new(),
            };
            format!("{} no longer takes {}{renamed}", pair.subject(), brief_list(gone))
        }
        _ => format!("{} takes only {} now", pair.subject(), brief_list(after)),
    };
    out.push(pair.change("enum-value-removed", "enum", Effect::Narrowed, message));
}
