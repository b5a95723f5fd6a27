//! A property is no longer declared.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, Step},
    effect::Effect,
};

pub(super) const RULE: Rule = Rule {
    id: "property-removed",
    surfaces: SCHEMA,
    what: "A property is no longer declared.",
    why: "Input: a closed schema rejects calls that send it; an open one accepts them and ignores it, so they lose their \
          effect without an error. Output: it may be missing, or hold anything.",
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
        let was_required = Pair::requires(pair.baseline, name);
        let effect = match (closed, was_required) {
            (true, false) => Effect::Narrowed,
            (true, true) => Effect::Moved,
            (false, _) => Effect::Widened,
        };
        let subject = pair.subject_of(name);
        let message = if closed { format!("{subject} was removed") } else { format!("{subject} was removed and is ignored") };
        let like = renamed_to(name, schema, before, after);
        out.push(Change {
            at: pair.at.join("properties").join(name),
            place: pair.place.join(Step::Name(name.clone())),
            name: Some(name.clone()),
            ignored: !closed,
            baseline: Some(schema.clone()),
            candidate: None,
            message: like.map_or(message.clone(), |new| format!("{message}; `{new}` looks like its new name")),
            ..pair.change("property-removed", "additionalProperties", effect, String::new())
        });
    }
}

/// A property that only the candidate has and that has the same schema, words aside, or nearly the same name.
fn renamed_to<'a>(
    name: &str,
    schema: &serde_json::Value,
    before: &serde_json::Map<String, serde_json::Value>,
    after: Option<&'a serde_json::Map<String, serde_json::Value>>,
) -> Option<&'a str> {
    use crate::{contract::normal_schema, json};
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let new: Vec<_> = after?.iter().filter(|(n, _)| !before.contains_key(*n)).collect();
    let shape = normal_schema(schema);
    let same_shape = |s: &serde_json::Value| json::equal(&normal_schema(s), &shape);
    let found = new.iter().find(|(n, _)| plain(n) == plain(name)).or_else(|| {
        // A shape alone proves little where many share it.
        let mut alike = new.iter().filter(|(_, s)| same_shape(s));
        match (alike.next(), alike.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        }
    });
    found.map(|(n, _)| n.as_str())
}
