//! Values that callers were seen to send, as examples of the places where they stood: what is built of a schema then looks
//! like what callers send. Examples assert nothing: they lead a search, and make no answer wrong.

use std::{cmp::Reverse, collections::HashMap};

use serde_json::{Map, Value};

use super::limits;

/// The schema with the values seen at each of its places ahead of the examples of its author. What stands behind a
/// reference is seen as a whole only: a definition may serve places of which other values were seen.
#[must_use]
pub fn as_examples(schema: &Value, seen: &[&Value]) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    Value::Object(below(members, seen))
}

fn below(members: &Map<String, Value>, seen: &[&Value]) -> Map<String, Value> {
    let mut out = members.clone();
    for (keyword, schemas) in &mut out {
        match (keyword.as_str(), schemas) {
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    place(schema, &seen.iter().filter_map(|value| value.get(name)).collect::<Vec<_>>());
                }
            }
            ("items", schema) => {
                place(schema, &seen.iter().filter_map(|v| v.as_array()).flatten().collect::<Vec<_>>());
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                branches.iter_mut().for_each(|branch| *branch = as_examples(branch, seen));
            }
            _ => {}
        }
    }
    out
}

fn place(schema: &mut Value, seen: &[&Value]) {
    let Value::Object(members) = schema else { return };
    if seen.is_empty() {
        return;
    }
    let mut out = below(members, seen);
    let mut examples = usual(seen);
    if let Some(Value::Array(given)) = members.get("examples") {
        examples.extend(given.iter().cloned());
    }
    out.insert("examples".to_owned(), Value::Array(examples));
    *members = out;
}

/// The values that were seen most often, then the shortest; in whatever order they were seen.
fn usual(seen: &[&Value]) -> Vec<Value> {
    let mut counts: HashMap<String, (usize, &Value)> = HashMap::new();
    for value in seen {
        let text = value.to_string();
        if text.len() <= limits::SEEN_BYTES {
            counts.entry(text).or_insert((0, value)).0 += 1;
        }
    }
    let mut counted: Vec<_> = counts.into_iter().collect();
    counted
        .sort_unstable_by(|(a, (n, _)), (b, (m, _))| (Reverse(n), a.len(), a).cmp(&(Reverse(m), b.len(), b)));
    counted.into_iter().take(limits::SEEN_VALUES).map(|(_, (_, value))| value.clone()).collect()
}
