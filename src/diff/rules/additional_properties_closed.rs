//! Undeclared properties are forbidden from now on.

use serde_json::Value;

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "additional-properties-closed",
    surfaces: SCHEMA,
    what: "Undeclared properties are forbidden from now on.",
    why: "Callers that send only what was declared are not affected; under `strict`, callers that send more are rejected. \
          Where nothing was declared, every property was an undeclared one.",
    instead: "Ignore what is not known, or declare what callers send before closing.",
    cases: include_str!("additional_properties_closed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    if !Pair::is_closed(pair.candidate) || Pair::is_closed(pair.baseline) {
        return;
    }
    let free_form = !Pair::declares(pair.baseline);
    let was_map = pair.baseline.get("additionalProperties").is_some_and(Value::is_object);
    let declared = if free_form || was_map { Effect::Narrowed } else { Effect::Same };
    let message = format!("{} must not hold undeclared properties any more", pair.subject());
    out.push(Change {
        declared,
        ..pair.change("additional-properties-closed", "additionalProperties", Effect::Narrowed, message)
    });
}
