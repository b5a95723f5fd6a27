//! A schema and one like it: changes as authors make them, and notation that should change nothing.

use serde_json::{Map, Value, json};
use toolpact::contract::{Below, below};

use super::{dice::Dice, schemas, vocabulary};

/// The schema after one to three changes.
pub(super) fn changed(dice: &mut Dice, document: &Value) -> Value {
    let mut out = document.clone();
    for _ in 0..if dice.chance(60) { 1 } else { dice.between(2, 3) } {
        if dice.chance(50) {
            change(dice, &mut out);
        } else {
            rewrite(dice, &mut out);
        }
    }
    out
}

/// The schema after changes of notation; most leave its values as they are, and none is trusted to.
pub(super) fn rewritten(dice: &mut Dice, document: &Value) -> Value {
    let mut out = document.clone();
    for _ in 0..dice.between(1, 4) {
        rewrite(dice, &mut out);
    }
    out
}

/// Pointers to every schema of a document, its root first.
fn places(schema: &Value, at: &str, out: &mut Vec<String>) {
    let Value::Object(members) = schema else { return };
    out.push(at.to_owned());
    for (key, value) in members {
        let at = format!("{at}/{}", escaped(key));
        match (below(key), value) {
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                items.iter().enumerate().for_each(|(i, s)| places(s, &format!("{at}/{i}"), out));
            }
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => {
                map.iter().for_each(|(k, s)| places(s, &format!("{at}/{}", escaped(k)), out));
            }
            (Some(_), sub) => places(sub, &at, out),
            (None, Value::Object(map)) if key == "x-defs" => {
                map.iter().for_each(|(k, s)| places(s, &format!("{at}/{}", escaped(k)), out));
            }
            (None, _) => {}
        }
    }
}

fn escaped(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}

/// Some schema of the document that is an object, with its pointer.
fn some_place<'d>(dice: &mut Dice, document: &'d mut Value) -> Option<(bool, &'d mut Map<String, Value>)> {
    let mut all = Vec::new();
    places(document, "", &mut all);
    let at = all.get(dice.below(all.len()))?.clone();
    Some((at.is_empty(), document.pointer_mut(&at)?.as_object_mut()?))
}

/// One keyword dropped, added or given another value.
fn change(dice: &mut Dice, document: &mut Value) {
    let context = document.clone();
    if dice.chance(5)
        && let Value::Object(root) = document
    {
        match dice.pick(&vocabulary::DIALECTS) {
            Some(dialect) => _ = root.insert("$schema".to_owned(), (*dialect).into()),
            None => _ = root.shift_remove("$schema"),
        }
        return;
    }
    let Some((root, members)) = some_place(dice, document) else { return };
    let own: Vec<String> = members.keys().filter(|k| !root || *k != "$schema").cloned().collect();
    let key = own.get(dice.below(own.len())).cloned();
    match (key, dice.below(4)) {
        (Some(key), 0) => _ = members.shift_remove(&key),
        (Some(key), 1 | 2) => {
            if let Some(value) = members.get_mut(&key) {
                tweak(dice, value);
            }
        }
        _ => {
            let (key, value) = schemas::keyword(dice, &context);
            members.insert(key, value);
        }
    }
}

/// A value a little beside the one it was.
fn tweak(dice: &mut Dice, value: &mut Value) {
    *value = match value.take() {
        Value::Bool(b) => Value::Bool(!b),
        Value::Number(n) => match (n.as_i64(), n.as_f64(), dice.below(4)) {
            (Some(n), _, 0 | 1) => n.saturating_add(1).into(),
            (Some(n), _, 2) => n.saturating_sub(1).into(),
            (_, Some(f), _) => json!(if dice.chance(50) { f + 0.5 } else { f * 2.0 }),
            (_, None, _) => Value::Number(schemas::number(dice)),
        },
        Value::String(text) if vocabulary::TYPES.contains(&text.as_str()) => {
            dice.text(&vocabulary::TYPES).into()
        }
        Value::String(text) if vocabulary::PATTERNS.contains(&text.as_str()) => {
            dice.text(&vocabulary::PATTERNS).into()
        }
        Value::String(text) => {
            if dice.chance(50) {
                dice.text(&vocabulary::NAMES).into()
            } else {
                format!("{text}a").into()
            }
        }
        Value::Array(mut items) => {
            let at = dice.below(items.len());
            match dice.below(4) {
                0 if items.len() > 1 => _ = items.remove(at),
                // A name twice in `required` is no schema.
                1 if items.first().is_some_and(|first| !first.is_string()) => items.push(items[at].clone()),
                2 => items.push(schemas::value(dice, 1)),
                _ => items.iter_mut().skip(at).take(1).for_each(|item| tweak(dice, item)),
            }
            Value::Array(items)
        }
        Value::Object(mut map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            match keys.get(dice.below(keys.len())) {
                Some(key) if dice.chance(30) => _ = map.shift_remove(key),
                Some(key) => {
                    if let Some(value) = map.get_mut(key) {
                        tweak(dice, value);
                    }
                }
                None => {}
            }
            Value::Object(map)
        }
        Value::Null => json!(0),
    };
}

/// The same said in other words, or what is easily taken for the same.
fn rewrite(dice: &mut Dice, document: &mut Value) {
    // A part moves to the definitions and is referred to.
    if dice.chance(10) {
        extract(dice, document);
        return;
    }
    let Some((root, members)) = some_place(dice, document) else { return };
    match dice.below(22) {
        0 => *members = members.iter().rev().map(|(k, v)| (k.clone(), v.clone())).collect(),
        1 => {
            for key in ["required", "enum", "type", "anyOf", "allOf"] {
                if let Some(Value::Array(items)) = members.get_mut(key) {
                    items.reverse();
                }
            }
        }
        // A name twice in `required` is no schema.
        2 => {
            for key in ["enum", "anyOf", "allOf"] {
                if let Some(Value::Array(items)) = members.get_mut(key) {
                    items.extend(items.first().cloned());
                }
            }
        }
        3 => members.retain(|_, v| !v.is_null() && *v != json!({}) && *v != json!([])),
        4 => {
            let (key, value) = dice
                .pick(&[
                    ("additionalProperties", json!(true)),
                    ("additionalProperties", json!({})),
                    ("unevaluatedProperties", json!(true)),
                    ("items", json!({})),
                    ("properties", json!({})),
                    ("patternProperties", json!({})),
                    ("minLength", json!(0)),
                    ("minItems", json!(0)),
                    ("uniqueItems", json!(false)),
                    ("title", json!("a")),
                    ("description", json!("a")),
                    ("$comment", json!("a")),
                    ("examples", json!([{ "type": "string" }])),
                    ("$defs", json!({})),
                    ("not", json!({ "not": {} })),
                    ("minContains", json!(1)),
                ])
                .clone();
            members.entry(key).or_insert(value);
        }
        5 => {
            let key = dice.text(&[
                "additionalProperties",
                "title",
                "description",
                "examples",
                "default",
                "$comment",
            ]);
            members.shift_remove(&key);
        }
        // `const` and an `enum` of one.
        6 => match (members.shift_remove("const"), members.get("enum")) {
            (Some(value), None) => _ = members.insert("enum".to_owned(), json!([value])),
            (Some(value), Some(_)) => _ = members.insert("const".to_owned(), value),
            (None, Some(Value::Array(one))) if one.len() == 1 => {
                let value = one[0].clone();
                members.shift_remove("enum");
                members.insert("const".to_owned(), value);
            }
            (None, _) => {}
        },
        // Ways to say `or null`.
        7 => nullable(dice, members),
        8 => one_or_many(members),
        // Numbers written otherwise.
        9 => members.values_mut().for_each(renumbered),
        10 if !root => wrap(members, |whole| json!({ "allOf": [whole] })),
        11 if !root => wrap(members, |whole| json!({ "not": { "not": whole } })),
        12 if !root => wrap(members, |whole| json!({ "anyOf": [whole, false] })),
        13 if !root => wrap(members, |whole| json!({ "anyOf": [whole.clone(), whole] })),
        14 => rename(members, "anyOf", "oneOf"),
        15 => rename(members, "oneOf", "anyOf"),
        16 => rename(members, "$defs", "definitions"),
        17 => rename(members, "items", "prefixItems"),
        18 => rename(members, "dependentRequired", "dependencies"),
        19 => rename(members, "additionalProperties", "unevaluatedProperties"),
        20 => rename(members, "minimum", "exclusiveMinimum"),
        _ => rename(members, "unevaluatedProperties", "additionalProperties"),
    }
}

fn rename(members: &mut Map<String, Value>, from: &str, to: &str) {
    if !members.contains_key(to)
        && let Some(value) = members.shift_remove(from)
    {
        members.insert(to.to_owned(), value);
    }
}

fn wrap(members: &mut Map<String, Value>, make: impl Fn(Value) -> Value) {
    if let Value::Object(made) = make(Value::Object(members.clone())) {
        *members = made;
    }
}

fn nullable(dice: &mut Dice, members: &mut Map<String, Value>) {
    let Some(types) = members.get("type").cloned() else { return };
    let nothing = json!({ "type": "null" });
    match types {
        Value::String(one) if dice.chance(50) => _ = members.insert("type".to_owned(), json!([one, "null"])),
        Value::String(_) => {
            let union = dice.text(&["anyOf", "oneOf"]);
            wrap(members, |whole| json!({ &union: [whole, nothing] }));
        }
        Value::Array(many) if many.len() == 2 && many.contains(&json!("null")) => {
            members
                .insert("type".to_owned(), if many[0] == "null" { many[1].clone() } else { many[0].clone() });
            wrap(members, |whole| json!({ "anyOf": [whole, nothing] }));
        }
        _ => {}
    }
}

fn one_or_many(members: &mut Map<String, Value>) {
    match members.get_mut("type") {
        Some(one @ Value::String(_)) => *one = json!([one.clone()]),
        Some(Value::Array(many)) if many.len() == 1 => {
            let one = many[0].clone();
            members.insert("type".to_owned(), one);
        }
        _ => {}
    }
}

/// `1` as `1.0` and the other way, at every depth; what no double holds stays.
fn renumbered(value: &mut Value) {
    match value {
        Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(whole), Some(f)) if f as i64 == whole && whole.unsigned_abs() < 1 << 53 => {
                *value = json!(f)
            }
            (None, Some(f)) if f.fract() == 0.0 && f.abs() < 1e15 => *value = json!(f as i64),
            _ => {}
        },
        Value::Array(items) => items.iter_mut().for_each(renumbered),
        Value::Object(map) => map.values_mut().for_each(renumbered),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn extract(dice: &mut Dice, document: &mut Value) {
    let mut all = Vec::new();
    places(document, "", &mut all);
    all.retain(|at| !at.is_empty() && !at.contains("efs/") && !at.contains("definitions/"));
    let Some(at) = all.get(dice.below(all.len())) else { return };
    let container = dice.text(&["$defs", "$defs", "definitions", "x-defs"]);
    let Some(place) = document.pointer_mut(at) else { return };
    let part = std::mem::replace(place, json!({ "$ref": format!("#/{container}/moved") }));
    if let Value::Object(root) = document
        && let Value::Object(all) = root.entry(container).or_insert_with(|| json!({}))
    {
        all.insert("moved".to_owned(), part);
    }
}
