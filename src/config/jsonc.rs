//! JSON with comments and trailing commas, as editors write it; a key that stands twice is refused with its place.

use jsonc_parser::{CollectOptions, ParseOptions, ast, common::Ranged as _, parse_to_ast};
use serde_json::{Map, Value};

use super::ConfigError;

/// Reads a text; an empty one is `null`.
pub(super) fn read(text: &str) -> Result<Value, ConfigError> {
    let options = ParseOptions {
        allow_missing_commas: false,
        allow_loose_object_property_names: false,
        ..ParseOptions::default()
    };
    // Editors on Windows put it there.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed =
        parse_to_ast(text, &CollectOptions::default(), &options).map_err(|error| ConfigError::Syntax {
            line: error.line_display(),
            column: error.column_display(),
            message: clause(&error.kind().to_string()),
        })?;
    parsed.value.as_ref().map_or(Ok(Value::Null), |node| value(text, node))
}

fn value(text: &str, node: &ast::Value<'_>) -> Result<Value, ConfigError> {
    Ok(match node {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(b) => Value::Bool(b.value),
        ast::Value::StringLit(s) => Value::String(s.value.clone().into_owned()),
        // As it stands where it is no number of JSON: only texts are made of it.
        ast::Value::NumberLit(n) => {
            n.value.parse().map_or_else(|_| Value::String(n.value.to_owned()), Value::Number)
        }
        ast::Value::Array(items) => {
            Value::Array(items.elements.iter().map(|item| value(text, item)).collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut members = Map::new();
            for property in &object.properties {
                let key = property.name.as_str();
                if members.insert(key.to_owned(), value(text, &property.value)?).is_some() {
                    let (line, column) = place(text, property.start());
                    let message = format!("key `{key}` stands here twice; a key has one value");
                    return Err(ConfigError::Syntax { line, column, message });
                }
            }
            Value::Object(members)
        }
    })
}

fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

/// A sentence as part of ours.
fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    #[test]
    fn what_editors_write_is_read_and_what_is_doubtful_is_refused() {
        let good = "\u{feff}{\n // a comment\n \"a\": [1, /* two */ 2,],\n \"b\": \"c // d\",\n}";
        assert_eq!(read(good), Ok(json!({"a": [1, 2], "b": "c // d"})));
        for (text, place) in [
            ("{\"a\": 1,\n \"a\": 2}", "2:2: key `a` stands here twice; a key has one value"),
            ("{\"a\" 1}", "1:6: "),
            ("{\"a\": 1 \"b\": 2}", "1:8: "),
            ("{\n\"a\": tru}", "2:6: "),
            ("{\"a\": 1} x", "1:10: "),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with(place), "{text}: {error}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
