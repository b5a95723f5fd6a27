//! What can be read off a conjunction of schemas without solving anything: types, finite values, bounds, and which
//! schemas a property or an item meets.
//!
//! A conjunction is a list of [`Part`]s: plain objects of keywords, references and `allOf` taken apart.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{
    FastSet,
    dialect::{ASSERTED_FORMAT, WRITTEN_WHOLE, resolve},
    limits,
    pattern::matches,
};
use crate::{contract::references, json};

/// A schema and the document its references are read in.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The schema.
    pub schema: &'a Value,
    /// Its document.
    pub root: &'a Value,
}

impl<'a> Node<'a> {
    /// Another schema of the same document.
    pub fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    /// Identity, for memories of what was asked.
    pub fn id(self) -> usize {
        std::ptr::from_ref(self.schema) as usize
    }
}

/// One conjunct: an object of keywords.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The keywords.
    pub keywords: &'a Map<String, Value>,
    /// Where they stand.
    pub node: Node<'a>,
}

impl<'a> Part<'a> {
    /// A keyword's value.
    pub fn get(&self, keyword: &str) -> Option<&'a Value> {
        // A schema has few keywords: comparing them costs less than hashing one.
        if self.keywords.len() > 12 {
            return self.keywords.get(keyword);
        }
        self.keywords.iter().find(|(key, _)| *key == keyword).map(|(_, value)| value)
    }

    /// A subschema.
    pub fn sub(&self, keyword: &str) -> Option<Node<'a>> {
        self.get(keyword).map(|s| self.node.at(s))
    }

    /// A list of subschemas.
    pub fn list(&self, keyword: &str) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let node = self.node;
        self.get(keyword).and_then(Value::as_array).into_iter().flatten().map(move |s| node.at(s))
    }

    /// A map of subschemas.
    pub fn map(&self, keyword: &str) -> impl Iterator<Item = (&'a String, Node<'a>)> + use<'a> {
        let node = self.node;
        self.get(keyword).and_then(Value::as_object).into_iter().flatten().map(move |(k, s)| (k, node.at(s)))
    }
}

/// Whether two schemas are written alike, and so is all that their references lead to.
pub fn alike(a: Node<'_>, b: Node<'_>) -> bool {
    if !json::equal(a.schema, b.schema) {
        return false;
    }
    if std::ptr::eq(a.root, b.root) {
        return true;
    }
    let (mut seen, mut queue) = (FastSet::default(), references(a.schema));
    while let Some(target) = queue.pop() {
        if !seen.insert(target) {
            continue;
        }
        if seen.len() > limits::ALIKE_REFERENCES {
            return false;
        }
        match (resolve(a.root, target), resolve(b.root, target)) {
            (Some(x), Some(y)) if json::equal(x, y) => queue.extend(references(x)),
            _ => return false,
        }
    }
    true
}

/// What taking a conjunction apart gave.
pub enum Flat<'a> {
    /// Its parts; none at all means "any value".
    Parts(Vec<Part<'a>>),
    /// A `false` is among them: no value.
    Nothing,
    /// A reference leads nowhere, or only back to itself.
    Unclear,
}

/// Takes references and `allOf` apart.
pub fn flatten<'a>(nodes: &[Node<'a>]) -> Flat<'a> {
    let (mut parts, mut seen, mut queue) = (Vec::new(), Vec::new(), Vec::from(nodes));
    queue.reverse();
    while let Some(node) = queue.pop() {
        match node.schema {
            Value::Bool(true) => {}
            Value::Bool(false) => return Flat::Nothing,
            Value::Object(keywords) => {
                if seen.contains(&node.id()) {
                    continue;
                }
                seen.push(node.id());
                parts.push(Part { keywords, node });
                if let Some(Value::String(target)) = keywords.get("$ref") {
                    match resolve(node.root, target) {
                        Some(target) => queue.push(node.at(target)),
                        None => return Flat::Unclear,
                    }
                }
                if let Some(Value::Array(all)) = keywords.get("allOf") {
                    queue.extend(all.iter().map(|s| node.at(s)));
                }
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return Flat::Unclear,
        }
    }
    Flat::Parts(parts)
}

/// Sets of JSON types; integers and other numbers apart.
pub mod types {
    /// `null`.
    pub const NULL: u8 = 1;
    /// Booleans.
    pub const BOOLEAN: u8 = 2;
    /// Numbers that are integers, `1.0` included.
    pub const INTEGER: u8 = 4;
    /// Numbers that are no integers.
    pub const FRACTION: u8 = 8;
    /// All numbers.
    pub const NUMBER: u8 = INTEGER | FRACTION;
    /// Strings.
    pub const STRING: u8 = 16;
    /// Arrays.
    pub const ARRAY: u8 = 32;
    /// Objects.
    pub const OBJECT: u8 = 64;
    /// Every type.
    pub const ALL: u8 = 127;
    /// Each type by itself, with a schema that says so.
    pub const EACH: [u8; 7] = [NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT];
}

/// The types a `type` keyword names.
pub fn named_types(value: &Value) -> u8 {
    match value {
        Value::String(name) => match name.as_str() {
            "null" => types::NULL,
            "boolean" => types::BOOLEAN,
            "integer" => types::INTEGER,
            "number" => types::NUMBER,
            "string" => types::STRING,
            "array" => types::ARRAY,
            "object" => types::OBJECT,
            _ => 0,
        },
        Value::Array(names) => names.iter().map(named_types).fold(0, |a, b| a | b),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => types::ALL,
    }
}

/// The type of a value.
pub fn type_of(value: &Value) -> u8 {
    match value {
        Value::Null => types::NULL,
        Value::Bool(_) => types::BOOLEAN,
        Value::Number(n) if json::is_whole(n) => types::INTEGER,
        Value::Number(_) => types::FRACTION,
        Value::String(_) => types::STRING,
        Value::Array(_) => types::ARRAY,
        Value::Object(_) => types::OBJECT,
    }
}

/// The types a conjunction leaves, looking into unions to a small depth.
pub fn types_of(parts: &[Part<'_>], depth: u8) -> u8 {
    let mut mask = types::ALL;
    for part in parts {
        if let Some(value) = part.get("type") {
            mask &= named_types(value);
        }
        if let Some(value) = part.get("const") {
            mask &= type_of(value);
        }
        if let Some(Value::Array(values)) = part.get("enum") {
            mask &= values.iter().map(type_of).fold(0, |a, b| a | b);
        }
        // A multiple of a whole number is whole.
        if part.get("multipleOf").and_then(Value::as_number).is_some_and(|n| json::integer(n).is_some()) {
            mask &= !types::FRACTION;
        }
        for union in ["anyOf", "oneOf"] {
            // A branch that is among the parts was chosen, and says more.
            let chosen = |b: Node<'_>| parts.iter().any(|p| p.node.id() == b.id());
            if part.get(union).is_some() && depth > 0 && !part.list(union).any(chosen) {
                mask &= part
                    .list(union)
                    .map(|branch| match flatten(&[branch]) {
                        Flat::Parts(parts) => types_of(&parts, depth - 1),
                        Flat::Nothing => 0,
                        Flat::Unclear => types::ALL,
                    })
                    .fold(0, |a, b| a | b);
            }
        }
        // `not: {type: …}` and nothing beside it.
        if let Some(Value::Object(not)) = part.get("not")
            && not.len() == 1
            && let Some(value) = not.get("type")
        {
            let named = named_types(value);
            mask &= !named;
        }
    }
    mask
}

/// The values of a conjunction, where a `const` or `enum` lists them; further keywords may rule some out.
pub fn finite<'a>(parts: &[Part<'a>]) -> Option<Vec<&'a Value>> {
    let mut found: Option<Vec<&'a Value>> = None;
    for part in parts {
        let listed: Vec<&'a Value> = match (part.get("const"), part.get("enum")) {
            (Some(value), _) => vec![value],
            (None, Some(Value::Array(values))) => values.iter().collect(),
            _ => continue,
        };
        found = Some(match found {
            None => listed,
            Some(before) => before.into_iter().filter(|v| listed.iter().any(|w| json::equal(v, w))).collect(),
        });
    }
    let mask = types_of(parts, 2);
    found.map(|values| values.into_iter().filter(|v| type_of(v) & mask != 0).collect())
}

/// Orders two numbers, exactly where both are integers.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (json::integer(a), json::integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// A bound of numbers: the number, and whether it is itself outside.
pub type Bound<'a> = (&'a Number, bool);

/// The tightest lower bound of numbers.
pub fn lower<'a>(parts: &[Part<'a>]) -> Option<Bound<'a>> {
    tightest(parts, "minimum", "exclusiveMinimum", Ordering::Greater)
}

/// The tightest upper bound of numbers.
pub fn upper<'a>(parts: &[Part<'a>]) -> Option<Bound<'a>> {
    tightest(parts, "maximum", "exclusiveMaximum", Ordering::Less)
}

fn tightest<'a>(parts: &[Part<'a>], closed: &str, open: &str, tighter: Ordering) -> Option<Bound<'a>> {
    let mut best: Option<Bound<'a>> = None;
    for part in parts {
        for (keyword, exclusive) in [(closed, false), (open, true)] {
            let Some(Value::Number(n)) = part.get(keyword) else { continue };
            let better = best.is_none_or(|(b, was)| {
                let order = compare(n, b);
                order == tighter || (order == Ordering::Equal && exclusive && !was)
            });
            if better {
                best = Some((n, exclusive));
            }
        }
    }
    best
}

/// The largest (or smallest) of a counting keyword (`minLength`, `maxItems`, …).
pub fn count(parts: &[Part<'_>], keyword: &str) -> Option<u64> {
    let all = parts.iter().filter_map(|p| p.get(keyword).and_then(as_count));
    if keyword.starts_with("min") { all.max() } else { all.min() }
}

/// A count, `3.0` included.
pub fn as_count(value: &Value) -> Option<u64> {
    json::integer(value.as_number()?).and_then(|n| u64::try_from(n).ok())
}

/// Whether a `required` names this property.
pub fn requires(parts: &[Part<'_>], name: &str) -> bool {
    required(parts).any(|n| n == name)
}

/// Every required name.
pub fn required<'a>(parts: &[Part<'a>]) -> impl Iterator<Item = &'a str> {
    parts
        .iter()
        .filter_map(|p| p.get("required").and_then(Value::as_array))
        .flatten()
        .filter_map(Value::as_str)
}

/// Every declared property name, in the order of the documents, once each.
pub fn declared<'a>(parts: &[Part<'a>]) -> Vec<&'a str> {
    if let [part] = parts {
        return part.map("properties").map(|(name, _)| name.as_str()).collect();
    }
    let (mut names, mut seen) = (Vec::new(), FastSet::default());
    for part in parts {
        names.extend(part.map("properties").map(|(name, _)| name.as_str()).filter(|name| seen.insert(*name)));
    }
    names
}

/// The schemas that a property of this name meets; nothing where a pattern cannot be read.
pub fn property<'a>(parts: &[Part<'a>], name: &str) -> Option<Vec<Node<'a>>> {
    let mut met = Vec::new();
    for part in parts {
        let mut known = false;
        if let Some(Value::Object(map)) = part.get("properties")
            && let Some(schema) = map.get(name)
        {
            met.push(part.node.at(schema));
            known = true;
        }
        if part.map("patternProperties").count() > limits::PATTERNS {
            return None;
        }
        for (pattern, schema) in part.map("patternProperties") {
            if matches(pattern, name)? {
                met.push(schema);
                known = true;
            }
        }
        if !known && let Some(rest) = part.sub("additionalProperties") {
            met.push(rest);
        }
    }
    Some(met)
}

/// The schemas that an undeclared property meets where no pattern takes it.
pub fn undeclared<'a>(parts: &[Part<'a>]) -> Vec<Node<'a>> {
    parts.iter().filter_map(|p| p.sub("additionalProperties")).collect()
}

/// The schemas that the item at this position meets.
pub fn item<'a>(parts: &[Part<'a>], index: usize) -> Vec<Node<'a>> {
    parts
        .iter()
        .filter_map(|part| {
            let prefix = part.get("prefixItems").and_then(Value::as_array);
            match prefix.and_then(|p| p.get(index)) {
                Some(schema) => Some(part.node.at(schema)),
                None => part.sub("items"),
            }
        })
        .collect()
}

/// The longest `prefixItems`.
pub fn prefix(parts: &[Part<'_>]) -> usize {
    parts
        .iter()
        .filter_map(|p| p.get("prefixItems").and_then(Value::as_array))
        .map(Vec::len)
        .max()
        .unwrap_or(0)
}

/// The only types a keyword speaks of; nothing where it speaks of all.
pub fn applies_to(keyword: &str) -> Option<u8> {
    Some(match keyword {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => types::NUMBER,
        WRITTEN_WHOLE => types::NUMBER,
        ASSERTED_FORMAT => types::STRING,
        "minLength" | "maxLength" | "pattern" => types::STRING,
        "minItems" | "maxItems" | "uniqueItems" | "items" | "prefixItems" | "contains"
        | "unevaluatedItems" => types::ARRAY,
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "propertyNames"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => types::OBJECT,
        _ => return None,
    })
}
