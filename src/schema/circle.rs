//! Schemas that say what a value is by what that same value is: `{"not": {"$ref": "#"}}`. They have no meaning that
//! validators agree on, so nothing is claimed of them. A reference that is met again deeper in the value is no circle.

use serde_json::Value;

use super::{FastMap, dialect::resolve};
use crate::contract::subschemas;

/// The target of a reference on a circle, where there is one.
pub fn find(root: &Value) -> Option<&str> {
    let mut done: FastMap<*const Value, bool> = FastMap::default();
    let mut starts = vec![root];
    while let Some(start) = starts.pop() {
        starts.extend(subschemas(start).map(|(_, sub)| sub));
        if let Some(target) = from(start, root, &mut done) {
            return Some(target);
        }
    }
    None
}

enum Step<'a> {
    Into(&'a Value),
    Out(&'a Value),
}

/// Walks what speaks of the same value as `start`; a schema is done (`true`) once all below it was walked. With a list
/// of its own, because a chain of references can be longer than a thread's stack.
fn from<'a>(start: &'a Value, root: &'a Value, done: &mut FastMap<*const Value, bool>) -> Option<&'a str> {
    let mut steps = vec![Step::Into(start)];
    while let Some(step) = steps.pop() {
        let schema = match step {
            Step::Out(schema) => {
                done.insert(schema, true);
                continue;
            }
            Step::Into(schema) => schema,
        };
        if done.contains_key(&std::ptr::from_ref(schema)) {
            continue;
        }
        done.insert(schema, false);
        steps.push(Step::Out(schema));
        let same_value = subschemas(schema).filter(|(keyword, _)| {
            matches!(
                *keyword,
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
            )
        });
        steps.extend(same_value.map(|(_, sub)| Step::Into(sub)));
        if let Some(Value::String(target)) = schema.get("$ref")
            && let Some(next) = resolve(root, target)
        {
            if done.get(&std::ptr::from_ref(next)) == Some(&false) {
                return Some(target);
            }
            steps.push(Step::Into(next));
        }
    }
    None
}
