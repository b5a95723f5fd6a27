//! A property is no longer declared.

use super::{Check, Rule, SCHEMA};
use crate::diff::{
    change::{Change, Pair, Step},
    effect::Effect,
    finding::Surface,
    succession::{are_related, plain},
};

pub(super) const RULE: Rule = Rule {
    id: "property-removed",
    surfaces: SCHEMA,
    what: "A property is no longer declared.",
    why: "Input: a closed schema rejects calls that send it; an open one accepts them and ignores it, so they lose their \
          effect without an error. Where it was required, every call carried it, and every call means something else now: \
          that is a break, and no witness shows it; so is a new name that says the same, or the only property in place of the only \
          one that went. Output: it may be missing, or hold anything.",
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
            needed: was_required || like.as_ref().is_some_and(|new| new.certain),
            baseline: Some(schema.clone()),
            candidate: None,
            message: match (like, moved_to(name, schema, before, after)) {
                (Some(new), _) => format!("{message}; `{}` looks like its new name", new.name),
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

/// What a property looks like it is called now.
struct Renamed<'a> {
    name: &'a str,
    /// Every call that sends the old name means another thing now. A shape alone is a hint among several properties, and makes
    /// no break of what would be none: so either the names are related, or one property took the place of one other while
    /// nothing else came or went. People who judged such pairs by hand call the latter a break too (`max` that became
    /// `limit`), and no real release was seen in which it was none.
    certain: bool,
}

/// A property that only the candidate has and that has nearly the same name, or the same schema, words aside.
fn renamed_to<'a>(
    name: &str,
    schema: &serde_json::Value,
    before: &serde_json::Map<String, serde_json::Value>,
    after: Option<&'a serde_json::Map<String, serde_json::Value>>,
) -> Option<Renamed<'a>> {
    use crate::{contract::normal_schema, json};
    let new: Vec<_> = after?.iter().filter(|(n, _)| !before.contains_key(*n)).collect();
    let shape = normal_schema(schema);
    let same_shape = |s: &serde_json::Value| json::equal(&normal_schema(s), &shape);
    let styled = plain(name);
    if let Some((new, _)) = new.iter().find(|(n, _)| plain(n) == styled && !styled.is_empty()) {
        return Some(Renamed { name: new, certain: true });
    }
    // A shape alone proves little where several share it.
    let gone = before.iter().filter(|(n, s)| after.is_some_and(|a| !a.contains_key(*n)) && same_shape(s)).count();
    let mut alike = new.iter().filter(|(_, s)| same_shape(s));
    match (alike.next(), alike.next(), gone) {
        (Some((now, _)), None, 1) => {
            let alone = new.len() == 1 && before.keys().filter(|n| after.is_some_and(|a| !a.contains_key(*n))).count() == 1;
            Some(Renamed { name: now, certain: alone || are_related(name, now) })
        }
        _ => None,
    }
}
