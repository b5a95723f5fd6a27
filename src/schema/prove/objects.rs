//! Whether the properties of a conjunction meet what is said of properties.

use serde_json::{Map, Value};

use super::{AUTOMATA, Prover};
use crate::schema::{
    evaluate,
    facts::{self, Flat, Node, Part},
    limits, pattern, text,
};

impl Prover {
    /// Whether every property that `outer` does not declare meets its `additionalProperties`.
    pub(super) fn rest_meets<'a>(&mut self, parts: &[Part<'a>], outer: &Part<'a>, depth: usize) -> bool {
        let Some(schema) = outer.sub("additionalProperties") else { return true };
        let patterns: Vec<&String> = outer.map("patternProperties").map(|(p, _)| p).collect();
        if patterns.len() > limits::PATTERNS {
            return false;
        }
        let known = outer.get("properties").and_then(Value::as_object);
        for name in facts::declared(parts) {
            if known.is_some_and(|k| k.contains_key(name)) {
                continue;
            }
            let mut taken = false;
            for pattern in &patterns {
                match pattern::matches(pattern, name) {
                    Some(found) => taken |= found,
                    None => return false,
                }
            }
            if !taken
                && !facts::property(parts, name).is_some_and(|met| self.contains(&met, schema, depth + 1))
            {
                return false;
            }
        }
        for part in parts {
            for (pattern, met) in part.map("patternProperties") {
                if !patterns.contains(&pattern)
                    && !self.contains(&[met], schema, depth + 1)
                    && !self.covered(pattern, &patterns, known)
                {
                    return false;
                }
            }
        }
        // What neither side declares. A part with patterns leaves it to its `additionalProperties` as well.
        self.contains(&facts::undeclared(parts), schema, depth + 1)
    }

    /// Whether every name that a pattern takes is taken by one of others, or is known.
    pub(super) fn covered(
        &mut self,
        pattern: &str,
        others: &[&String],
        known: Option<&Map<String, Value>>,
    ) -> bool {
        self.spend(AUTOMATA);
        let others: Vec<&str> = others.iter().map(|p| p.as_str()).collect();
        let known: Vec<Value> =
            known.into_iter().flatten().map(|(name, _)| Value::String(name.clone())).collect();
        text::covered(pattern, &others, &known) == Some(true)
    }

    /// Whether every property that a pattern of the outer side takes meets its schema.
    pub(super) fn pattern_meets<'a>(
        &mut self,
        parts: &[Part<'a>],
        pattern: &str,
        schema: Node<'a>,
        depth: usize,
    ) -> bool {
        for name in facts::declared(parts) {
            let Some(taken) = pattern::matches(pattern, name) else { return false };
            if taken
                && !facts::property(parts, name).is_some_and(|met| self.contains(&met, schema, depth + 1))
            {
                return false;
            }
        }
        let met: Vec<Node<'a>> = parts
            .iter()
            .flat_map(|part| match part.get("patternProperties").and_then(Value::as_object) {
                Some(map) => map
                    .iter()
                    .filter(|(p, _)| *p == pattern || self.covered(pattern, &[p], None))
                    .map(|(_, s)| part.node.at(s))
                    .collect(),
                None => part.sub("additionalProperties").into_iter().collect::<Vec<_>>(),
            })
            .collect();
        self.contains(&met, schema, depth + 1)
    }

    pub(super) fn names_meet<'a>(&mut self, parts: &[Part<'a>], names: Node<'a>, depth: usize) -> bool {
        // Other `propertyNames` that say more.
        let said: Vec<Node<'a>> = parts.iter().filter_map(|p| p.sub("propertyNames")).collect();
        if !said.is_empty() && self.contains(&said, names, depth + 1) {
            return true;
        }
        if closed_at(parts).is_none() {
            return false;
        }
        let Flat::Parts(wanted) = facts::flatten(&[names]) else { return false };
        facts::declared(parts).into_iter().all(|name| {
            let value = Value::String(name.to_owned());
            evaluate::parts(&wanted, &value) == Some(true)
        })
    }
}

/// How many properties a value can have at the most, where a part forbids all it does not declare.
pub(super) fn closed_at(parts: &[Part<'_>]) -> Option<u64> {
    parts
        .iter()
        .filter(|p| p.get("additionalProperties") == Some(&Value::Bool(false)))
        .filter(|p| p.get("patternProperties").is_none())
        .map(|p| p.map("properties").count() as u64)
        .min()
}
