//! What a tool announces to go: itself, or some of its parameters.
//!
//! JSON Schema has `deprecated` for a parameter (2019-09, validation, 9.3); MCP has nothing for a tool, so what authors
//! write is read: a `deprecated` in the tool, its `annotations` or its `_meta`, or a description that begins with the word.

use serde_json::Value;

/// The places, as pointers into the tool; the empty one is the tool itself.
#[must_use]
pub fn places(tool: &Value) -> Vec<String> {
    let mut places = Vec::new();
    let says = |at: Option<&Value>| {
        let members = at.and_then(Value::as_object).into_iter().flatten();
        members.into_iter().any(|(name, value)| is_deprecated(name) && is_said(value))
    };
    let beside = says(tool.get("annotations")) || says(tool.get("_meta"));
    if beside || tool.get("deprecated").is_some_and(is_said) || begins(tool.get("description")) {
        places.push(String::new());
    }
    for schema in ["inputSchema", "outputSchema"] {
        parameters(tool.get(schema), &format!("/{schema}"), &mut places, 0);
    }
    places
}

/// A parameter of a parameter of a parameter is announced as well; deeper nobody looks.
const DEPTH: usize = 8;

fn parameters(schema: Option<&Value>, at: &str, places: &mut Vec<String>, depth: usize) {
    let Some(properties) = schema.and_then(|s| s.get("properties")).and_then(Value::as_object) else {
        return;
    };
    if depth > DEPTH {
        return;
    }
    for (name, schema) in properties {
        let place = format!("{at}/properties/{}", name.replace('~', "~0").replace('/', "~1"));
        if schema.get("deprecated").is_some_and(is_said) || begins(schema.get("description")) {
            places.push(place.clone());
        }
        parameters(Some(schema), &place, places, depth + 1);
        parameters(schema.get("items"), &format!("{place}/items"), places, depth + 1);
    }
}

/// `deprecated`, or a name of somebody's own for it (`com.example/deprecated`).
fn is_deprecated(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case("deprecated"))
}

fn is_said(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn begins(description: Option<&Value>) -> bool {
    let Some(text) = description.and_then(Value::as_str) else { return false };
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    word.eq_ignore_ascii_case("deprecated")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::places;

    #[test]
    fn what_goes_is_announced_in_a_few_ways() {
        for (tool, expected) in [
            (json!({"name": "a", "description": "Finds."}), &[][..]),
            (json!({"description": "[DEPRECATED] Use b."}), &[""]),
            (json!({"description": "**Deprecated:** use b."}), &[""]),
            (json!({"description": "Lists deprecated APIs."}), &[]),
            (json!({"_meta": {"com.example/deprecated": "2026-10-01"}}), &[""]),
            (json!({"annotations": {"deprecated": true}}), &[""]),
            (json!({"annotations": {"deprecated": false}, "deprecated": null}), &[]),
            (
                json!({"inputSchema": {"properties": {"a/b": {"deprecated": true}, "c": {}}}}),
                &["/inputSchema/properties/a~1b"],
            ),
            (
                json!({"inputSchema": {"properties": {"o": {"properties": {"p": {"description": "deprecated"}}}}}}),
                &["/inputSchema/properties/o/properties/p"],
            ),
        ] {
            assert_eq!(places(&tool), expected, "{tool}");
        }
    }
}
