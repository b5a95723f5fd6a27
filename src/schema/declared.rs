//! The `declared` assumption as a rewriting of schemas, so that no solver has to know of it.
//!
//! [`close`] makes the set of values that hold only declared properties: what callers are taken to send. [`open`] drops
//! the objections to undeclared ones: what consumers are taken to notice. Both work on 2020-12 and copy what references
//! point to, because one definition can stand at a place of its own and inside an `allOf`, where it must not be closed.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::dialect::resolve;
use crate::contract::{Below, below};

/// Keywords whose schemas speak of the same value as the one they stand in.
const IN_PLACE: [&str; 6] = ["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"];

/// See [`super::Schema::closed`].
///
/// # Errors
/// Names a reference that leads nowhere.
pub fn close(root: &Value) -> Result<Value, String> {
    Copier { root, action: Action::Close, names: HashMap::new(), queue: Vec::new() }.run()
}

/// See [`super::Schema::opened`].
///
/// # Errors
/// Names a reference that leads nowhere.
pub fn open(root: &Value) -> Result<Value, String> {
    Copier { root, action: Action::Open, names: HashMap::new(), queue: Vec::new() }.run()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Close,
    Open,
}

/// How a copied schema is used.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    /// It describes a value of its own.
    Own,
    /// It adds to the description of a value that another describes.
    Part,
    /// It is a condition (`not`, `if`): changing it would turn the change around.
    Condition,
}

struct Copier<'a> {
    root: &'a Value,
    action: Action,
    names: HashMap<(Use, String), String>,
    queue: Vec<(Use, String, String)>,
}

impl<'a> Copier<'a> {
    fn run(mut self) -> Result<Value, String> {
        let mut out = self.node(self.root, Use::Own)?;
        let mut defs = Map::new();
        while let Some((used, target, name)) = self.queue.pop() {
            let schema =
                resolve(self.root, &target).ok_or_else(|| format!("`$ref` to `{target}` leads nowhere"))?;
            defs.insert(name, self.node(schema, used)?);
        }
        if let (Value::Object(members), false) = (&mut out, defs.is_empty()) {
            members.insert("$defs".to_owned(), Value::Object(defs));
        }
        Ok(out)
    }

    fn reference(&mut self, target: &str, used: Use) -> Value {
        let count = self.names.len();
        let queue = &mut self.queue;
        let name = self.names.entry((used, target.to_owned())).or_insert_with(|| {
            let name = format!("d{count}");
            queue.push((used, target.to_owned(), name.clone()));
            name
        });
        Value::String(format!("#/$defs/{name}"))
    }

    fn node(&mut self, schema: &'a Value, used: Use) -> Result<Value, String> {
        let Value::Object(members) = schema else { return Ok(schema.clone()) };
        let opening = self.action == Action::Open && used != Use::Condition;
        let (own, part) = match used {
            Use::Condition => (Use::Condition, Use::Condition),
            Use::Own | Use::Part => (Use::Own, Use::Part),
        };
        let mut out = Map::new();
        // Two unions of one schema are kept apart: both have to hold.
        let mut unions = Vec::new();
        for (key, value) in members {
            let below_use = match key.as_str() {
                "not" | "if" | "contains" | "propertyNames" => Use::Condition,
                k if IN_PLACE.contains(&k) => part,
                _ => own,
            };
            match (key.as_str(), value) {
                ("$defs" | "definitions", _) => {}
                ("$ref", Value::String(target)) => _ = out.insert(key.clone(), self.reference(target, part)),
                ("additionalProperties" | "unevaluatedProperties", Value::Bool(false)) if opening => {}
                // Opened branches overlap where closed ones did not.
                ("oneOf", value @ Value::Array(_)) if opening => {
                    unions.push(json!({ "anyOf": self.children("anyOf", value, below_use)? }));
                }
                _ => _ = out.insert(key.clone(), self.children(key, value, below_use)?),
            }
        }
        if !unions.is_empty()
            && let Value::Array(all) = out.entry("allOf").or_insert_with(|| json!([]))
        {
            all.append(&mut unions);
        }
        if self.action == Action::Close && used == Use::Own {
            self.seal(members, &mut out);
        }
        Ok(Value::Object(out))
    }

    fn children(&mut self, key: &str, value: &'a Value, used: Use) -> Result<Value, String> {
        Ok(match (below(key), value) {
            (Some(Below::List | Below::SchemaOrList), Value::Array(items)) => {
                Value::Array(items.iter().map(|i| self.node(i, used)).collect::<Result<_, _>>()?)
            }
            (Some(Below::Map | Below::MapOfSchemaOrNames), Value::Object(map)) => Value::Object(
                map.iter()
                    .map(|(name, sub)| Ok((name.clone(), self.node(sub, used)?)))
                    .collect::<Result<_, String>>()?,
            ),
            (Some(Below::Schema | Below::SchemaOrList), sub) => self.node(sub, used)?,
            _ => value.clone(),
        })
    }

    /// Forbids what the schema, through everything that speaks of the same value, does not declare.
    fn seal(&self, members: &'a Map<String, Value>, out: &mut Map<String, Value>) {
        let mut names = Names::default();
        names.collect(self.root, members);
        // A free-form object takes what it takes. A tool without parameters takes none.
        let free_form = names.properties.is_empty() && names.patterns.is_empty();
        let root = self.root.as_object().is_some_and(|root| std::ptr::eq(root, members));
        if names.map || (free_form && !root) {
            return;
        }
        for (key, all) in [("properties", names.properties), ("patternProperties", names.patterns)] {
            if all.is_empty() {
                continue;
            }
            if let Value::Object(own) = out.entry(key).or_insert_with(|| Value::Object(Map::new())) {
                for name in all {
                    own.entry(name).or_insert(Value::Bool(true));
                }
            }
        }
        out.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
}

/// The properties that a schema declares for the value it describes.
#[derive(Default)]
struct Names<'a> {
    properties: BTreeSet<&'a str>,
    patterns: BTreeSet<&'a str>,
    /// It describes undeclared properties by a schema, so they count as declared.
    map: bool,
    seen: HashSet<*const Map<String, Value>>,
}

impl<'a> Names<'a> {
    fn collect(&mut self, root: &'a Value, members: &'a Map<String, Value>) {
        if !self.seen.insert(std::ptr::from_ref(members)) {
            return;
        }
        for (key, value) in members {
            match (key.as_str(), value) {
                ("properties", Value::Object(map)) => self.properties.extend(map.keys().map(String::as_str)),
                ("patternProperties", Value::Object(map)) => {
                    self.patterns.extend(map.keys().map(String::as_str))
                }
                ("additionalProperties" | "unevaluatedProperties", Value::Object(schema)) => {
                    self.map |= !schema.is_empty();
                }
                ("$ref", Value::String(target)) => {
                    if let Some(Value::Object(target)) = resolve(root, target) {
                        self.collect(root, target);
                    }
                }
                // What is required by name is known by name.
                ("required", Value::Array(names)) => {
                    self.properties.extend(names.iter().filter_map(Value::as_str))
                }
                ("dependentSchemas", Value::Object(map)) => {
                    map.values().filter_map(Value::as_object).for_each(|p| self.collect(root, p));
                }
                (k, Value::Array(parts)) if IN_PLACE.contains(&k) => {
                    parts.iter().filter_map(Value::as_object).for_each(|p| self.collect(root, p));
                }
                (k, Value::Object(part)) if k == "if" || IN_PLACE.contains(&k) => self.collect(root, part),
                _ => {}
            }
        }
    }
}
