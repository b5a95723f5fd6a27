//! A place takes more of the listed values, or any from now on.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::{
    diff::{
        change::{Change, Pair, brief_list},
        effect::Effect,
    },
    json,
};

pub(super) const RULE: Rule = Rule {
    id: "enum-value-added",
    surfaces: SCHEMA,
    what: "A place takes a value that was not listed, or any value from now on.",
    why: "Input: no call breaks. Output: consumers meet a value they do not know.",
    instead: "In results, add a field for the new distinction and keep the old values.",
    cases: include_str!("enum_value_added.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let Some(Value::Array(before)) = pair.baseline.get("enum") else { return };
    let message = match pair.candidate.get("enum") {
        Some(Value::Array(after)) => {
            let new: Vec<&Value> = after.iter().filter(|v| !before.iter().any(|w| json::equal(v, w))).collect();
            if new.is_empty() {
                return;
            }
            format!("{} takes {} as well", pair.subject(), brief_list(new))
        }
        _ => format!("{} is no longer limited to {}", pair.subject(), brief_list(before)),
    };
    out.push(pair.change("enum-value-added", "enum", Effect::Widened, message));
}
