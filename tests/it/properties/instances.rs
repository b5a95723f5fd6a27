//! Values near what two schemas speak of: built along either, taken from their own words, then changed a little.
//!
//! Nothing here knows a dialect or decides anything: a value that neither schema accepts costs its time only.

use serde_json::{Map, Value, json};

use super::{dice::Dice, schemas, vocabulary};

/// At least `count` values near both schemas.
pub(super) fn near(dice: &mut Dice, a: &Value, b: &Value, count: usize) -> Vec<Value> {
    let mut words = Words::default();
    words.collect(a);
    words.collect(b);
    let mut out: Vec<Value> = vec![json!({}), json!([]), json!(null), json!(1), json!("a")];
    while out.len() < count {
        let root = if dice.chance(50) { a } else { b };
        let value = match dice.below(10) {
            0 => words.value(dice, 2),
            // A known value with something beside it changed.
            1 | 2 => {
                let mut value = dice.pick(&out).clone();
                disturb(dice, &words, &mut value, 3);
                value
            }
            _ => Builder { root, words: &words, left: 60 }.value(dice, root, 0),
        };
        out.push(value);
    }
    out
}

/// What the schemas name.
#[derive(Default)]
struct Words {
    values: Vec<Value>,
    names: Vec<String>,
}

impl Words {
    fn collect(&mut self, schema: &Value) {
        match schema {
            Value::Object(map) => {
                for (key, value) in map {
                    match (key.as_str(), value) {
                        ("enum" | "examples", Value::Array(all)) => self.values.extend(all.iter().cloned()),
                        ("const" | "default", value) => self.values.push(value.clone()),
                        (
                            "properties" | "patternProperties" | "dependentRequired" | "dependencies",
                            Value::Object(map),
                        ) => {
                            self.names.extend(map.keys().cloned());
                        }
                        ("required", Value::Array(names)) => {
                            self.names.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
                        }
                        (_, Value::Number(n)) => {
                            self.values.push(Value::Number(n.clone()));
                            self.values.extend(beside(n));
                        }
                        _ => {}
                    }
                    self.collect(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|v| self.collect(v)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn name(&self, dice: &mut Dice) -> String {
        if self.names.is_empty() || dice.chance(25) {
            let all = if dice.chance(50) { &vocabulary::NAMES[..] } else { &vocabulary::TEXTS[..] };
            dice.text(all)
        } else {
            dice.pick(&self.names).clone()
        }
    }

    fn value(&self, dice: &mut Dice, depth: usize) -> Value {
        if !self.values.is_empty() && dice.chance(40) {
            return dice.pick(&self.values).clone();
        }
        match dice.below(if depth == 0 { 3 } else { 5 }) {
            0..=2 => schemas::value(dice, 0),
            3 => Value::Array((0..dice.below(4)).map(|_| self.value(dice, depth - 1)).collect()),
            _ => Value::Object(
                (0..dice.below(4)).map(|_| (self.name(dice), self.value(dice, depth - 1))).collect(),
            ),
        }
    }
}

/// The numbers around one.
fn beside(n: &serde_json::Number) -> Vec<Value> {
    match (n.as_i64(), n.as_f64()) {
        (Some(n), Some(f)) => {
            vec![
                n.saturating_add(1).into(),
                n.saturating_sub(1).into(),
                json!(f),
                json!(f + 0.5),
                json!(f - 0.5),
            ]
        }
        (_, Some(f)) => {
            vec![json!(f + 0.5), json!(f - 1.0), json!(f * 2.0), json!(f.next_up()), json!(f.round())]
        }
        (_, None) => Vec::new(),
    }
}

struct Builder<'a> {
    root: &'a Value,
    words: &'a Words,
    /// Schemas still looked at: references may lead in a circle.
    left: usize,
}

impl<'a> Builder<'a> {
    fn value(&mut self, dice: &mut Dice, schema: &'a Value, depth: usize) -> Value {
        let Value::Object(members) = schema else { return self.words.value(dice, 1) };
        if self.left == 0 || depth > 8 {
            return self.words.value(dice, 0);
        }
        self.left -= 1;
        let built = self.built(dice, members, depth);
        // What stands beside it speaks of the same value.
        let Some(part) = self.in_place(dice, members) else { return built };
        match (built, self.value(dice, part, depth)) {
            (Value::Object(mut one), Value::Object(two)) => {
                one.extend(two);
                Value::Object(one)
            }
            (one, two) => {
                if dice.chance(70) {
                    two
                } else {
                    one
                }
            }
        }
    }

    fn in_place(&self, dice: &mut Dice, members: &'a Map<String, Value>) -> Option<&'a Value> {
        let mut parts: Vec<&Value> = Vec::new();
        for (key, value) in members {
            match (key.as_str(), value) {
                ("$ref", Value::String(target)) => parts.extend(self.resolved(target)),
                ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => parts.extend(all),
                ("then" | "else" | "if" | "not", part) => parts.push(part),
                ("dependentSchemas" | "dependencies", Value::Object(map)) => parts.extend(map.values()),
                _ => {}
            }
        }
        if parts.is_empty() || dice.chance(15) { None } else { Some(parts[dice.below(parts.len())]) }
    }

    fn resolved(&self, target: &str) -> Option<&'a Value> {
        match target.strip_prefix('#')?.replace("%64", "d") {
            empty if empty.is_empty() => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(&pointer),
            // The one anchor there is stands there.
            _ => self.root.pointer("/$defs/d"),
        }
    }

    fn built(&mut self, dice: &mut Dice, members: &'a Map<String, Value>, depth: usize) -> Value {
        if dice.chance(85) {
            if let Some(value) = members.get("const") {
                return value.clone();
            }
            if let Some(Value::Array(values)) = members.get("enum")
                && !values.is_empty()
            {
                return dice.pick(values).clone();
            }
        }
        let named: Vec<&str> = match members.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => members.keys().filter_map(|k| speaks_of(k)).collect(),
        };
        let name = if named.is_empty() || dice.chance(6) {
            *dice.pick(&vocabulary::TYPES)
        } else {
            dice.pick(&named)
        };
        match name {
            "null" => Value::Null,
            "boolean" => dice.chance(50).into(),
            "integer" | "number" => number(dice, members),
            "string" => text(dice, members).into(),
            "array" => self.array(dice, members, depth),
            _ => self.object(dice, members, depth),
        }
    }

    fn array(&mut self, dice: &mut Dice, members: &'a Map<String, Value>, depth: usize) -> Value {
        let prefix = ["prefixItems", "items"].iter().find_map(|k| members.get(*k).and_then(Value::as_array));
        let rest = ["items", "additionalItems", "unevaluatedItems"].iter().find_map(|k| members.get(*k));
        let length = length(dice, members, "minItems", "maxItems", prefix.map_or(2, Vec::len));
        let mut items: Vec<Value> = (0..length)
            .map(|i| match (prefix.and_then(|p| p.get(i)), rest) {
                (Some(schema), _) | (None, Some(schema)) => self.value(dice, schema, depth + 1),
                (None, None) => self.words.value(dice, 0),
            })
            .collect();
        if let Some(wanted) = members.get("contains") {
            for _ in 0..dice.below(3) {
                let at = dice.below(items.len() + 1);
                let item = self.value(dice, wanted, depth + 1);
                if dice.chance(50) || at == items.len() { items.insert(at, item) } else { items[at] = item }
            }
        }
        if dice.chance(15) && !items.is_empty() {
            let again = dice.pick(&items).clone();
            items.push(again);
        }
        Value::Array(items)
    }

    fn object(&mut self, dice: &mut Dice, members: &'a Map<String, Value>, depth: usize) -> Value {
        let declared = members.get("properties").and_then(Value::as_object);
        let mut out = Map::new();
        let mut required: Vec<&str> = match members.get("required") {
            Some(Value::Array(names)) if dice.chance(92) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let often = *dice.pick(&[0, 30, 60, 100]);
        required.extend(
            declared.into_iter().flat_map(Map::keys).map(String::as_str).filter(|_| dice.chance(often)),
        );
        for name in required {
            let value = match declared.and_then(|d| d.get(name)) {
                Some(schema) => self.value(dice, schema, depth + 1),
                None => self.words.value(dice, 1),
            };
            out.insert(name.to_owned(), value);
        }
        for _ in 0..*dice.pick(&[0, 0, 1, 2]) {
            let schemas: Vec<&Value> = ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .filter_map(|k| members.get(*k))
                .chain(
                    members
                        .get("patternProperties")
                        .and_then(Value::as_object)
                        .into_iter()
                        .flat_map(Map::values),
                )
                .collect();
            let name = self.words.name(dice);
            let value = match schemas.get(dice.below(schemas.len())) {
                Some(schema) => self.value(dice, schema, depth + 1),
                None => self.words.value(dice, 1),
            };
            out.entry(name).or_insert(value);
        }
        Value::Object(out)
    }
}

/// The type a keyword speaks of.
fn speaks_of(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "minItems" | "maxItems" | "uniqueItems" | "items" | "additionalItems" | "prefixItems"
        | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => "array",
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies"
        | "unevaluatedProperties" => "object",
        _ => return None,
    })
}

fn length(dice: &mut Dice, members: &Map<String, Value>, least: &str, most: &str, usual: usize) -> usize {
    let bound = |key: &str| members.get(key).and_then(Value::as_f64).map(|n| n as usize);
    match (bound(least), bound(most), dice.below(3)) {
        (Some(n), _, 0) | (_, Some(n), 1) | (Some(n), None, 1) => n + dice.below(2),
        (Some(n), ..) | (None, Some(n), _) => (n + dice.below(2)).saturating_sub(1),
        _ => dice.below(usual + 2),
    }
    .min(40)
}

fn number(dice: &mut Dice, members: &Map<String, Value>) -> Value {
    const BOUNDS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    let bounds: Vec<&serde_json::Number> =
        BOUNDS.iter().filter_map(|k| members.get(*k).and_then(Value::as_number)).collect();
    match bounds.get(dice.below(bounds.len())) {
        Some(bound) if dice.chance(80) => {
            let mut near = beside(bound);
            near.push(Value::Number((*bound).clone()));
            near.extend(bound.as_f64().map(|f| json!(f * 3.0)));
            dice.pick(&near).clone()
        }
        _ => Value::Number(schemas::number(dice)),
    }
}

fn text(dice: &mut Dice, members: &Map<String, Value>) -> String {
    let length =
        ["minLength", "maxLength"].iter().filter_map(|k| members.get(*k).and_then(Value::as_f64)).next();
    match length {
        Some(n) if dice.chance(50) => {
            let n = (n as usize + dice.below(3)).saturating_sub(1).min(40);
            dice.text(&["a", "b", "é", "😀", "1"]).repeat(n)
        }
        _ => dice.text(&vocabulary::TEXTS),
    }
}

/// Something in a value dropped, added or replaced.
fn disturb(dice: &mut Dice, words: &Words, value: &mut Value, depth: usize) {
    match value {
        Value::Object(map) if depth > 0 && dice.chance(80) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            match (keys.get(dice.below(keys.len())), dice.below(4)) {
                (Some(key), 0) => _ = map.shift_remove(key),
                (Some(key), 1 | 2) => {
                    if let Some(value) = map.get_mut(key) {
                        disturb(dice, words, value, depth - 1);
                    }
                }
                _ => _ = map.insert(words.name(dice), words.value(dice, 1)),
            }
        }
        Value::Array(items) if depth > 0 && dice.chance(80) => {
            let at = dice.below(items.len());
            match dice.below(4) {
                0 if !items.is_empty() => _ = items.remove(at),
                1 if !items.is_empty() => disturb(dice, words, &mut items[at], depth - 1),
                2 if !items.is_empty() => items.push(items[at].clone()),
                _ => items.push(words.value(dice, 1)),
            }
        }
        other => *other = words.value(dice, 1),
    }
}
