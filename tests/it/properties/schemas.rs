//! Schemas of every dialect, with the keywords of all the others: what a dialect ignores has to be ignored.

use serde_json::{Map, Number, Value, json};

use super::{
    dice::Dice,
    vocabulary::{DIALECTS, KEYWORDS, NAMES, PATTERNS, REFERENCES, TEXTS, TYPES, of_type},
};

/// A whole schema document: of any shape, of a few keywords, or about references.
pub(super) fn document(dice: &mut Dice) -> Value {
    let dialect = *dice.pick(&DIALECTS);
    let maker = Maker { old: dialect.is_some_and(|d| d.contains("draft-04")) };
    let mut root = Map::new();
    if let Some(dialect) = dialect {
        root.insert("$schema".to_owned(), dialect.into());
    }
    let (depth, few, refers) = (dice.between(1, 3), dice.chance(35), dice.chance(15));
    let node = match (few, refers) {
        (true, _) => maker.few(dice),
        (false, true) => maker.referring(dice),
        (false, false) => maker.node(dice, depth),
    };
    match node {
        Value::Object(members) if !few || dice.chance(50) => {
            root.extend(members.into_iter().filter(|(k, _)| k != "$schema"));
        }
        node => _ = root.insert("properties".to_owned(), json!({ "a": node })),
    }
    if dice.chance(50) {
        root.insert("type".to_owned(), "object".into());
    }
    maker.define(dice, &mut root);
    Value::Object(root)
}

/// A keyword for a schema of this document.
pub(super) fn keyword(dice: &mut Dice, document: &Value) -> (String, Value) {
    let dialect = document.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let maker = Maker { old: dialect.contains("draft-04") };
    let key = match document.get("type").and_then(Value::as_str) {
        Some(name) if dice.chance(40) => *dice.pick(of_type(name)),
        _ => dice.pick(&KEYWORDS),
    };
    (key.to_owned(), maker.value(dice, key, 1))
}

struct Maker {
    /// Draft-04: no booleans for schemas, `exclusiveMinimum` is one.
    old: bool,
}

impl Maker {
    /// One keyword or two for one type: where two sides differ in little, a wrong proof is near.
    fn few(&self, dice: &mut Dice) -> Value {
        let name = dice.pick(&TYPES);
        let mut out = Map::new();
        if dice.chance(70) {
            out.insert("type".to_owned(), (*name).into());
        }
        for _ in 0..dice.between(1, 2) {
            let key = *dice.pick(of_type(name));
            out.insert(key.to_owned(), self.value(dice, key, 1));
        }
        Value::Object(out)
    }

    /// A reference at the root or below, with and without something beside it.
    fn referring(&self, dice: &mut Dice) -> Value {
        let mut part = Map::new();
        part.insert("$ref".to_owned(), dice.text(&REFERENCES).into());
        if dice.chance(50) {
            let key = *dice.pick(&KEYWORDS);
            part.insert(key.to_owned(), self.value(dice, key, 1));
        }
        if dice.chance(30) {
            return Value::Object(part);
        }
        let mut out = json!({ "properties": { "a": part, "b": self.node(dice, 1) } });
        for key in ["examples", "default", "allOf", "items", "not", "dependencies"] {
            if dice.chance(15) {
                out[key] = self.value(dice, key, 1);
            }
        }
        out
    }

    /// The definitions that references need; sometimes ones that nobody refers to.
    fn define(&self, dice: &mut Dice, root: &mut Map<String, Value>) {
        let text = Value::Object(root.clone()).to_string();
        let anchored = text.contains("\"#k\"");
        for container in ["$defs", "definitions", "x-defs"] {
            let meant = text.contains(&format!("#/{container}/")) || (anchored && container == "$defs");
            if !meant && !dice.chance(3) {
                continue;
            }
            let mut all = Map::new();
            // What looks like the anchor and is a value.
            if anchored && dice.chance(40) {
                let key = dice.text(&["const", "enum", "default", "examples", "x-y"]);
                let decoy = json!({ "$anchor": "k", "type": dice.text(&TYPES) });
                let list = key == "enum" || key == "examples";
                all.insert("c".to_owned(), json!({ key: if list { json!([decoy]) } else { decoy } }));
            }
            for name in ["d", "e"] {
                let depth = dice.between(0, 1);
                let mut node = self.node(dice, depth);
                if let Value::Object(members) = &mut node {
                    if anchored && name == "d" {
                        members.insert("$anchor".to_owned(), "k".into());
                    }
                    if dice.chance(12) {
                        let key = dice.text(&["$schema", "$id", "id", "$anchor"]);
                        members.insert(key.clone(), self.value(dice, &key, 0));
                    }
                    if name == "e" && text.contains("e/const") {
                        members.insert("const".to_owned(), json!({ "type": dice.text(&TYPES) }));
                    }
                    if name == "e" && text.contains("e/enum") {
                        members.insert("enum".to_owned(), json!([{ "type": dice.text(&TYPES) }]));
                    }
                }
                all.insert(name.to_owned(), node);
            }
            root.insert(container.to_owned(), Value::Object(all));
        }
    }

    fn node(&self, dice: &mut Dice, depth: usize) -> Value {
        if depth == 0 || dice.chance(15) {
            return self.leaf(dice);
        }
        let mut out = Map::new();
        let count = dice.between(1, 3);
        if dice.chance(55) {
            let name = if dice.chance(40) { "object" } else { dice.pick(&TYPES) };
            if dice.chance(85) {
                out.insert("type".to_owned(), name.into());
            }
            for _ in 0..count {
                let key = *dice.pick(of_type(name));
                out.insert(key.to_owned(), self.value(dice, key, depth));
            }
        } else {
            for _ in 0..count {
                let key = *dice.pick(&KEYWORDS);
                out.insert(key.to_owned(), self.value(dice, key, depth));
            }
        }
        if out.contains_key("if") {
            for key in ["then", "else"] {
                if dice.chance(70) {
                    out.insert(key.to_owned(), self.node(dice, depth - 1));
                }
            }
        }
        Value::Object(out)
    }

    fn leaf(&self, dice: &mut Dice) -> Value {
        match dice.below(12) {
            0 => json!({}),
            1 if self.old => json!({}),
            2 if self.old => json!({ "not": {} }),
            1 => json!(true),
            2 => json!(false),
            3 => json!({ "$ref": dice.text(&REFERENCES) }),
            4 => json!({ "enum": self.value(dice, "enum", 0) }),
            5 => json!({ "pattern": dice.text(&PATTERNS) }),
            6 => json!({ "minimum": number(dice) }),
            _ => json!({ "type": self.value(dice, "type", 0) }),
        }
    }

    fn list(&self, dice: &mut Dice, depth: usize) -> Value {
        let count = dice.between(1, 3);
        Value::Array((0..count).map(|_| self.node(dice, depth.saturating_sub(1))).collect())
    }

    fn map(&self, dice: &mut Dice, depth: usize) -> Value {
        // Now and then more than any loop over a handful takes for granted.
        let count = if dice.chance(1) { 30 } else { dice.between(1, 3) };
        let name = |dice: &mut Dice, i: usize| if i < 4 { dice.text(&NAMES) } else { format!("p{i}") };
        let all = (0..count).map(|i| (name(dice, i), self.node(dice, depth.saturating_sub(1))));
        Value::Object(all.collect())
    }

    fn names(&self, dice: &mut Dice) -> Value {
        let count = dice.between(usize::from(self.old), 2);
        let mut names: Vec<String> = (0..count).map(|_| dice.text(&NAMES)).collect();
        names.sort();
        names.dedup();
        Value::from(names)
    }

    fn value(&self, dice: &mut Dice, keyword: &str, depth: usize) -> Value {
        let below = depth.saturating_sub(1);
        match keyword {
            "type" if dice.chance(25) => {
                let mut names: Vec<&str> = (0..dice.between(1, 3)).map(|_| *dice.pick(&TYPES)).collect();
                names.sort_unstable();
                names.dedup();
                Value::from(names)
            }
            "type" => dice.text(&TYPES).into(),
            "enum" => Value::Array((0..dice.between(1, 4)).map(|_| listed(dice)).collect()),
            "const" | "default" => listed(dice),
            "examples" => Value::Array((0..dice.between(0, 2)).map(|_| listed(dice)).collect()),
            "exclusiveMinimum" | "exclusiveMaximum" if self.old => dice.chance(70).into(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Value::Number(number(dice)),
            "multipleOf" => dice
                .pick(&[
                    json!(1),
                    json!(2),
                    json!(3),
                    json!(0.5),
                    json!(0.1),
                    json!(0.01),
                    json!(1.0),
                    json!(1e30),
                ])
                .clone(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains" => match dice.below(12) {
                0 if !self.old => json!(2.0),
                n => json!(n % 4),
            },
            "uniqueItems" => dice.chance(70).into(),
            "pattern" => dice.text(&PATTERNS).into(),
            "format" => dice.text(&["date", "email", "uri", "ipv4", "regex", "uuid", "no-format"]).into(),
            "required" => self.names(dice),
            "items" if dice.chance(25) => self.list(dice, depth),
            "additionalProperties" | "additionalItems" | "unevaluatedProperties" | "unevaluatedItems"
                if dice.chance(50) =>
            {
                dice.chance(30).into()
            }
            "items"
            | "additionalItems"
            | "contains"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "propertyNames"
            | "not"
            | "if"
            | "contentSchema" => self.node(dice, below),
            "prefixItems" | "allOf" | "anyOf" | "oneOf" => self.list(dice, depth),
            "properties" | "dependentSchemas" | "x-defs" => self.map(dice, depth),
            "patternProperties" => {
                let count = dice.between(1, 2);
                let all = (0..count).map(|_| (dice.text(&PATTERNS), self.node(dice, below)));
                Value::Object(all.collect())
            }
            "dependentRequired" => json!({ dice.text(&NAMES): self.names(dice) }),
            "dependencies" if dice.chance(50) => json!({ dice.text(&NAMES): self.names(dice) }),
            "dependencies" => self.map(dice, depth),
            "$ref" => dice.text(&REFERENCES).into(),
            "$anchor" => "k".into(),
            "$id" | "id" => dice.text(&["http://example.com/x", "#k", "x/y", "urn:x:y"]).into(),
            "$schema" => dice.pick(&DIALECTS).unwrap_or("http://json-schema.org/schema#").into(),
            "contentMediaType" => "application/json".into(),
            "contentEncoding" => "base64".into(),
            // Words, of which some speak as schemas do.
            _ => dice.text(&["", "a", "true", "minimum"]).into(),
        }
    }
}

/// Numbers where doubles, integers and their notations part.
pub(super) fn number(dice: &mut Dice) -> Number {
    const FRACTIONS: [f64; 13] = [0.5, 1.0, 1.5, 2.0, -0.0, 0.1, 0.3, 0.7, -1.5, 1e15, 1e30, -1e30, 1e300];
    const INTEGERS: [i64; 8] = [
        9_007_199_254_740_991,
        9_007_199_254_740_992,
        9_007_199_254_740_993,
        -9_007_199_254_740_993,
        i64::MAX,
        i64::MIN,
        100,
        1_000_000,
    ];
    match dice.below(10) {
        0 | 1 => Number::from_f64(*dice.pick(&FRACTIONS)).expect("it is finite"),
        2 if dice.chance(50) => (*dice.pick(&INTEGERS)).into(),
        2 if dice.chance(20) => u64::MAX.into(),
        _ => (dice.below(7) as i64 - 2).into(),
    }
}

/// A value for `enum`, `const` and the like; some look like schemas.
fn listed(dice: &mut Dice) -> Value {
    match dice.below(16) {
        0 => json!({ "$anchor": "k", "type": dice.text(&TYPES) }),
        1 => json!({ "type": dice.text(&TYPES) }),
        2 => json!({ "description": "a", "a": 1 }),
        3 => json!({ "$ref": "#/$defs/d" }),
        _ => value(dice, 2),
    }
}

/// Any value.
pub(super) fn value(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => dice.chance(50).into(),
        2..=4 => Value::Number(number(dice)),
        5 | 6 => dice.text(&TEXTS).into(),
        7 => Value::Array((0..dice.below(4)).map(|_| value(dice, depth - 1)).collect()),
        _ => Value::Object((0..dice.below(4)).map(|_| (dice.text(&NAMES), value(dice, depth - 1))).collect()),
    }
}
