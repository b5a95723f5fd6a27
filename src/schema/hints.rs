//! What the other side says of a place, as a guide to where values may leave it.

use serde_json::{Number, Value};

use super::{
    evaluate,
    facts::{self, Flat, Node, Part},
    limits,
};
use crate::{contract::below, json};

/// The other side at one place.
pub(super) struct Hints<'a> {
    /// All that it says, unions and conditions spread out: bounds, names and values to try.
    pub(super) parts: Vec<Part<'a>>,
    /// The ways it leaves to be taken, one for each choice among its unions; `None` takes nothing.
    ways: Vec<Option<Vec<Part<'a>>>>,
}

impl<'a> Hints<'a> {
    /// From the ways that the place around leaves.
    pub(super) fn of(ways: &[Vec<Node<'a>>]) -> Self {
        Self { parts: spread(&ways.concat()), ways: expanded(ways) }
    }

    /// Whether no way takes a value, as far as its simple keywords say.
    pub(super) fn reject(&self, value: &Value) -> bool {
        !self.ways.is_empty()
            && !self.ways.iter().any(|way| way.as_ref().is_some_and(|parts| fits(parts, value)))
    }

    /// The ways for a property.
    pub(super) fn property(&self, name: &str) -> Vec<Vec<Node<'a>>> {
        self.each(|parts| facts::property(parts, name).unwrap_or_default())
    }

    /// The ways for a property that nobody declares.
    pub(super) fn undeclared(&self) -> Vec<Vec<Node<'a>>> {
        self.each(facts::undeclared)
    }

    /// The ways for an item.
    pub(super) fn item(&self, index: usize) -> Vec<Vec<Node<'a>>> {
        self.each(|parts| facts::item(parts, index))
    }

    fn each(&self, below: impl Fn(&[Part<'a>]) -> Vec<Node<'a>>) -> Vec<Vec<Node<'a>>> {
        let mut out: Vec<Vec<Node<'a>>> = Vec::new();
        for parts in self.ways.iter().flatten() {
            let way = below(parts);
            let same = |other: &Vec<Node<'a>>| {
                other.len() == way.len() && other.iter().zip(&way).all(|(a, b)| a.id() == b.id())
            };
            if !out.iter().any(same) {
                out.push(way);
            }
        }
        out
    }
}

/// Chooses among unions until none is left, or there are too many ways.
fn expanded<'a>(ways: &[Vec<Node<'a>>]) -> Vec<Option<Vec<Part<'a>>>> {
    let (mut done, mut open) = (Vec::new(), ways.to_vec());
    while let Some(nodes) = open.pop() {
        let parts = match facts::flatten(&nodes) {
            Flat::Parts(parts) => parts,
            Flat::Nothing => {
                done.push(None);
                continue;
            }
            // It may take anything.
            Flat::Unclear => Vec::new(),
        };
        let union = parts.iter().find_map(|part| {
            let branches = ["anyOf", "oneOf"].into_iter().find_map(|union| {
                let branches: Vec<_> = part.list(union).collect();
                let chosen = |b: &Node<'_>| nodes.iter().any(|n| n.id() == b.id());
                (!branches.is_empty() && !branches.iter().any(chosen)).then_some(branches)
            });
            branches.filter(|b| b.len() + open.len() + done.len() <= limits::WAYS)
        });
        match union {
            Some(branches) => open.extend(branches.into_iter().map(|branch| {
                let mut way = nodes.clone();
                way.push(branch);
                way
            })),
            None => done.push(Some(parts)),
        }
    }
    done
}

/// Whether some way has the same schema for a place.
pub(super) fn alike(met: &[Node<'_>], ways: &[Vec<Node<'_>>]) -> bool {
    let [a] = met else { return false };
    ways.iter().any(|way| matches!(way.as_slice(), [b] if facts::alike(*a, *b)))
}

/// Every schema the other side has for this place, unions and conditions spread out.
pub(super) fn spread<'a>(nodes: &[Node<'a>]) -> Vec<Part<'a>> {
    let (mut out, mut queue, mut seen) = (Vec::new(), nodes.to_vec(), Vec::new());
    while let Some(node) = queue.pop() {
        if seen.contains(&node.id()) || out.len() > 64 {
            continue;
        }
        seen.push(node.id());
        let Flat::Parts(parts) = facts::flatten(&[node]) else { continue };
        for part in parts {
            for keyword in ["anyOf", "oneOf"] {
                queue.extend(part.list(keyword));
            }
            queue.extend(["not", "if", "then", "else"].into_iter().filter_map(|k| part.sub(k)));
            queue.extend(part.map("dependentSchemas").map(|(_, s)| s));
            out.push(part);
        }
    }
    out
}

/// Whether the simple keywords of all parts take a value.
pub(super) fn fits(parts: &[Part<'_>], value: &Value) -> bool {
    parts.iter().all(|part| {
        part.keywords.iter().all(|(keyword, v)| match (keyword.as_str(), value) {
            ("required", Value::Object(map)) => v
                .as_array()
                .is_none_or(|names| names.iter().filter_map(Value::as_str).all(|n| map.contains_key(n))),
            ("additionalProperties", Value::Object(map)) if v == &Value::Bool(false) => {
                part.get("patternProperties").is_some()
                    || map.keys().all(|k| part.get("properties").is_some_and(|p| p.get(k).is_some()))
            }
            ("maxProperties", Value::Object(map)) => facts::as_count(v).is_none_or(|n| map.len() as u64 <= n),
            ("minProperties", Value::Object(map)) => facts::as_count(v).is_none_or(|n| map.len() as u64 >= n),
            ("multipleOf", Value::Number(n)) => multiple_of(n, v),
            // What stands inside is looked at where it is built.
            (keyword, _) if keyword == "$ref" || below(keyword).is_some() => true,
            (keyword, value) => evaluate::keyword(part, keyword, v, value) != Some(false),
        })
    })
}

fn multiple_of(n: &Number, step: &Value) -> bool {
    let Some(step) = step.as_number() else { return true };
    match (json::integer(n), json::integer(step)) {
        (Some(n), Some(step)) => step == 0 || n % step == 0,
        _ => match (n.as_f64(), step.as_f64()) {
            (Some(n), Some(step)) if step > 0.0 => ((n / step).round() * step - n).abs() < 1e-9,
            _ => true,
        },
    }
}
