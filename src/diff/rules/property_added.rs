//! An optional property is declared that was not before.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair},
    effect::Effect,
    finding::Surface,
};

pub(super) const RULE: Rule = Rule {
    id: "property-added",
    surfaces: SCHEMA,
    what: "An optional property is declared that was not before.",
    why: "Callers that send only what was declared are not affected. Under `strict`, an open schema accepted anything \
          under that name, and accepts only the declared kind now. Output: a closed result had promised that nothing else comes.",
    instead: "This is how tools should grow; where callers send undeclared properties, choose a name that none of them uses; \
              leave results open from the start.",
    cases: include_str!("property_added.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let Some(after) = Pair::properties(pair.candidate) else { return };
    for (name, schema) in after {
        let known = Pair::properties(pair.baseline).is_some_and(|p| p.contains_key(name));
        // One that is required at once is `required-added`.
        let needed = Pair::requires(pair.candidate, name) && !Pair::requires(pair.baseline, name);
        if known || needed {
            continue;
        }
        let closed = Pair::is_closed(pair.baseline);
        let anything = matches!(schema, serde_json::Value::Bool(true))
            || schema.as_object().is_some_and(|s| s.keys().all(|k| crate::contract::WORDS.contains(&k.as_str())));
        let effect = match (closed, anything) {
            (true, _) => Effect::Widened,
            (false, true) => Effect::Same,
            (false, false) => Effect::Narrowed,
        };
        // A map's keys are all declared; a free-form object's callers sent something; what a result declares may come.
        let map = pair.baseline.get("additionalProperties").is_some_and(serde_json::Value::is_object);
        let sent = map || !Pair::declares(pair.baseline) || pair.surface == Surface::Output;
        let declared = if sent { effect } else { Effect::Same };
        out.push(Change {
            at: pair.at.join("properties").join(name),
            place: pair.place.join(crate::diff::change::Step::Name(name.clone())),
            declared,
            baseline: None,
            candidate: Some(schema.clone()),
            ..pair.change("property-added", "properties", effect, format!("optional {} was added", pair.subject_of(name)))
        });
    }
}
