//! A property must be present that need not be before.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "required-added",
    surfaces: SCHEMA,
    what: "A property must be present that could be left out before.",
    why: "Input: every call that leaves it out is rejected. Output: consumers lose nothing.",
    instead: "Make it optional with a default, or publish a second tool beside this one.",
    cases: include_str!("required_added.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let Some(Value::Array(names)) = pair.candidate.get("required") else { return };
    for name in names.iter().filter_map(Value::as_str).filter(|n| !Pair::requires(pair.baseline, n)) {
        let new = Pair::properties(pair.baseline).is_none_or(|p| !p.contains_key(name));
        let subject = pair.subject_of(name);
        let message =
            if new { format!("new {subject} is required") } else { format!("{subject} is required now") };
        out.push(Change {
            name: Some(name.to_owned()),
            baseline: None,
            candidate: Pair::properties(pair.candidate).and_then(|p| p.get(name)).cloned().or(Some(name.into())),
            ..pair.change("required-added", "required", Effect::Narrowed, message)
        });
    }
}
