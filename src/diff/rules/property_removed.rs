//! A property is no longer declared.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, Step},
    effect::Effect,
    finding::Surface,
};

pub(super) const RULE: Rule = Rule {
    id: "property-removed",
    surfaces: SCHEMA,
    what: "A property is no longer declared.",
    why: "Input: a closed schema rejects calls that send it; an open one accepts them and ignores it, so they lose their \
          effect without an error. Where it was required, every call carried it, and every call means something else now: \
          that is a break, and no witness shows it; so is a new name. Output: it may be missing, or hold anything.",
    instead: "Keep the property and announce its end; a renamed parameter is a removed one and an added one.",
    cases: include_str!("property_removed.yaml"),
    check: Check::Schema(check),
};

fn check(pair: &Pair<'_>, out: &mut Vec<Change>) {
    let Some(before) = Pair::properties(pair.baseline) else { return };
    let after = Pair::properties(pair.candidate);
    for (name, schema) in before {
        if after.is_some_and(|p| p.contains_key(name)) {
            continue;
        }
        let closed = Pair::is_closed(pair.candidate);
        // An object that says nothing of its properties, or says it elsewhere, may well look at this one.
        let elsewhere = ["anyOf", "oneOf", "allOf", "$ref", "if", "patternProperties"];
        let ignored = !closed
            && (Pair::declares(pair.candidate) || pair.place.0.is_empty())
            && !elsewhere.iter().any(|k| pair.candidate.contains_key(*k))
            && !pair.candidate.get("additionalProperties").is_some_and(serde_json::Value::is_object);
        let was_required = Pair::requires(pair.baseline, name);
        let effect = match (closed, was_required) {
            (true, false) => Effect::Narrowed,
            (true, true) => Effect::Moved,
            (false, _) => Effect::Widened,
        };
        let subject = pair.subject_of(name);
        let message = match (closed, ignored, pair.surface == Surface::Output) {
            (true, ..) | (_, _, true) => format!("{subject} was removed"),
            (_, true, _) => format!("{subject} was removed and is ignored"),
            (_, false, _) => format!("{subject} is no longer described"),
        };
        let like = renamed_to(name, schema, before, after);
        out.push(Change {
            at: pair.at.join("properties").join(name),
            place: pair.place.join(Step::Name(name.clone())),
            name: Some(name.clone()),
            ignored,
            needed: was_required || like.is_some(),
            baseline: Some(schema.clone()),
            candidate: None,
            message: match (like, moved_to(name, schema, before, after)) {
                (Some(new), _) => format!("{message}; `{new}` looks like its new name"),
                (None, Some(place)) => format!("{message}; `{place}` looks like its new place"),
                (None, None) => message,
            },
            ..pair.change("property-removed", "additionalProperties", effect, String::new())
        });
    }
}

/// A property of this name and shape inside an object, where there was none.
fn moved_to(
    name: &str,
    schema: &serde_json::Value,
    before: &serde_json::Map<String, serde_json::Value>,
    after: Option<&serde_json::Map<String, serde_json::Value>>,
) -> Option<String> {
    use crate::{contract::normal_schema, json};
    let shape = normal_schema(schema);
    let inside = |of: &serde_json::Value| of.get("properties").and_then(|p| p.get(name)).map(normal_schema);
    let found = after?.iter().find(|(object, now)| {
        inside(now).is_some_and(|s| json::equal(&s, &shape)) && before.get(*object).and_then(inside).is_none()
    });
    found.map(|(object, _)| format!("{object}.{name}"))
}

/// A property that only the candidate has and that has the same schema, words aside, or nearly the same name.
fn renamed_to<'a>(
    name: &str,
    schema: &serde_json::Value,
    before: &serde_json::Map<String, serde_json::Value>,
    after: Option<&'a serde_json::Map<String, serde_json::Value>>,
) -> Option<&'a str> {
    use crate::{contract::normal_schema, json};
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let new: Vec<_> = after?.iter().filter(|(n, _)| !before.contains_key(*n)).collect();
    let shape = normal_schema(schema);
    let same_shape = |s: &serde_json::Value| json::equal(&normal_schema(s), &shape);
    let found = new.iter().find(|(n, _)| plain(n) == plain(name) && !plain(name).is_empty()).or_else(|| {
        // A shape alone proves little where several share it.
        let gone = before.iter().filter(|(n, s)| after.is_some_and(|a| !a.contains_key(*n)) && same_shape(s)).count();
        let mut alike = new.iter().filter(|(_, s)| same_shape(s));
        match (alike.next(), alike.next(), gone) {
            (Some(one), None, 1) => Some(one),
            _ => None,
        }
    });
    found.map(|(n, _)| n.as_str())
}
