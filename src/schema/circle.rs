//! Schemas that say what a value is by what that same value is: `{"not": {"$ref": "#"}}`. They have no meaning that
//! validators agree on, so nothing is claimed of them. A reference that is met again deeper in the value is no circle.

use serde_json::Value;

use super::{FastMap, dialect::resolve};
use crate::contract::subschemas;

/// What leads from one schema to another for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The target of a reference on a circle, where there is one. Of schemas that can be written in 2020-12: all their
/// references are of one kind.
pub fn find(root: &Value) -> Option<&str> {
    found(root, &|target| resolve(root, target).into_iter().collect())
}

/// The same for a schema of any dialect, with every place that a reference may lead to: where its own base URI and dynamic
/// scope lead is not reckoned out, so a circle may be seen where there is none.
pub fn may_be(root: &Value) -> Option<&str> {
    found(root, &|target| targets(root, target))
}

fn found<'a>(root: &'a Value, resolved: &dyn Fn(&str) -> Vec<&'a Value>) -> Option<&'a str> {
    let mut done: FastMap<*const Value, bool> = FastMap::default();
    let mut starts = vec![root];
    while let Some(start) = starts.pop() {
        starts.extend(subschemas(start).map(|(_, sub)| sub));
        // A circle leads through a reference, and is found from any place on it.
        if REFERENCES.iter().any(|keyword| start.get(keyword).is_some_and(Value::is_string))
            && let Some(target) = from(start, resolved, &mut done)
        {
            return Some(target);
        }
    }
    None
}

/// Every schema that may be meant by a reference.
fn targets<'a>(root: &'a Value, reference: &str) -> Vec<&'a Value> {
    let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let last = |uri: &str| uri.trim_end_matches('#').rsplit('/').next().map(str::to_owned);
    let text = |schema: &'a Value, keyword| schema.get(keyword).and_then(Value::as_str);
    let (mut out, mut queue) = (Vec::new(), vec![root]);
    while let Some(schema) = queue.pop() {
        queue.extend(subschemas(schema).map(|(_, sub)| sub));
        let mut ids = ["$id", "id"].into_iter().filter_map(|keyword| text(schema, keyword));
        let whole = std::ptr::eq(schema, root);
        let is_base = match base {
            "" => whole || ids.clone().next().is_some(),
            base => ids.clone().any(|id| last(id) == last(base)),
        };
        let named = !fragment.is_empty()
            && (["$anchor", "$dynamicAnchor"].iter().any(|k| text(schema, k) == Some(fragment))
                || ids.any(|id| id.strip_prefix('#') == Some(fragment)));
        if named || is_base && fragment.is_empty() {
            out.push(schema);
        } else if is_base && fragment.starts_with('/') {
            out.extend(resolve(schema, &format!("#{fragment}")));
        }
    }
    out
}

enum Step<'a> {
    Into(&'a Value),
    Out(&'a Value),
}

/// Walks what speaks of the same value as `start`; a schema is done (`true`) once all below it was walked. With a list
/// of its own, because a chain of references can be longer than a thread's stack.
fn from<'a>(
    start: &'a Value,
    resolved: &dyn Fn(&str) -> Vec<&'a Value>,
    done: &mut FastMap<*const Value, bool>,
) -> Option<&'a str> {
    let mut steps = vec![Step::Into(start)];
    while let Some(step) = steps.pop() {
        let schema = match step {
            Step::Out(schema) => {
                done.insert(schema, true);
                continue;
            }
            Step::Into(schema) => schema,
        };
        match done.get(&std::ptr::from_ref(schema)) {
            Some(true) => continue,
            // It is being walked: this is its way back to itself, through keywords to where a reference began.
            Some(false) => return REFERENCES.iter().find_map(|k| start.get(*k).and_then(Value::as_str)),
            None => {}
        }
        done.insert(schema, false);
        steps.push(Step::Out(schema));
        let same_value = subschemas(schema).filter(|(keyword, _)| {
            matches!(
                *keyword,
                "allOf"
                    | "anyOf"
                    | "oneOf"
                    | "not"
                    | "if"
                    | "then"
                    | "else"
                    | "dependentSchemas"
                    | "dependencies"
            )
        });
        steps.extend(same_value.map(|(_, sub)| Step::Into(sub)));
        for keyword in REFERENCES {
            let Some(Value::String(target)) = schema.get(keyword) else { continue };
            for next in resolved(target) {
                if done.get(&std::ptr::from_ref(next)) == Some(&false) {
                    return Some(target);
                }
                steps.push(Step::Into(next));
            }
        }
    }
    None
}
