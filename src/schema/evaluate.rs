//! Whether a schema takes one value, as far as it can be told: `None` where a keyword or a number is beyond what is
//! modelled. Validators have the last word on witnesses; this one helps proofs, where a place has few values.

use serde_json::Value;

use super::{
    dialect::{ASSERTED_FORMAT, WRITTEN_WHOLE, resolve},
    facts::{Node, Part, as_count, compare, named_types, type_of},
    limits,
    pattern::matches,
};
use crate::json;

/// Keywords asked in one evaluation; references can multiply them.
const ASKED: u32 = 2_000;
/// Schemas asked one inside the other, references and steps into the value together.
const DEPTH: usize = 128;
/// References followed without a step into the value.
const FOLLOWED: usize = 32;

/// Whether every part takes the value.
pub fn parts(parts: &[Part<'_>], value: &Value) -> Option<bool> {
    let mut evaluation = Evaluation { left: ASKED, depth: 0 };
    every(parts.iter().map(|part| evaluation.part(part, value, 0)))
}

/// Whether one keyword of a part takes the value.
pub fn keyword(part: &Part<'_>, keyword: &str, given: &Value, value: &Value) -> Option<bool> {
    Evaluation { left: ASKED, depth: 0 }.keyword(part, keyword, given, value, 0)
}

/// Whether all hold; one that does not decides, one that is not known leaves it open.
fn every(all: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut open = false;
    for holds in all {
        match holds {
            Some(false) => return Some(false),
            Some(true) => {}
            None => open = true,
        }
    }
    (!open).then_some(true)
}

struct Evaluation {
    left: u32,
    depth: usize,
}

impl Evaluation {
    fn node(&mut self, node: Node<'_>, value: &Value, followed: usize) -> Option<bool> {
        if self.depth > DEPTH {
            return None;
        }
        self.depth += 1;
        let taken = match node.schema {
            Value::Bool(b) => Some(*b),
            Value::Object(keywords) => self.part(&Part { keywords, node }, value, followed),
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        };
        self.depth -= 1;
        taken
    }

    fn part(&mut self, part: &Part<'_>, value: &Value, followed: usize) -> Option<bool> {
        every(part.keywords.iter().map(|(k, given)| self.keyword(part, k, given, value, followed)))
    }

    /// How many of a list of schemas take the value: at least, and at most.
    fn count<'a>(
        &mut self,
        nodes: impl Iterator<Item = Node<'a>>,
        value: &Value,
        followed: usize,
    ) -> (usize, usize) {
        nodes.fold((0, 0), |(least, most), node| match self.node(node, value, followed) {
            Some(true) => (least + 1, most + 1),
            Some(false) => (least, most),
            None => (least, most + 1),
        })
    }

    fn keyword(
        &mut self,
        part: &Part<'_>,
        keyword: &str,
        given: &Value,
        value: &Value,
        followed: usize,
    ) -> Option<bool> {
        if self.left == 0 || followed > FOLLOWED {
            return None;
        }
        self.left -= 1;
        let next = followed + 1;
        match (keyword, value) {
            ("type", _) => Some(type_of(value) & named_types(given) != 0),
            ("const", _) => Some(json::equal(given, value)),
            ("enum", _) => Some(given.as_array()?.iter().any(|v| json::equal(v, value))),
            ("allOf", _) => every(part.list(keyword).map(|node| self.node(node, value, next))),
            ("anyOf", _) => match self.count(part.list(keyword), value, next) {
                (0, 0) => Some(false),
                (0, _) => None,
                _ => Some(true),
            },
            ("oneOf", _) => match self.count(part.list(keyword), value, next) {
                (1, 1) => Some(true),
                (least, most) if least > 1 || most == 0 => Some(false),
                _ => None,
            },
            ("not", _) => self.node(part.node.at(given), value, next).map(|b| !b),
            ("if", _) => {
                let branch = |holds: bool| part.sub(if holds { "then" } else { "else" });
                let met = self.node(part.node.at(given), value, next);
                let mut holds = |met| branch(met).map_or(Some(true), |node| self.node(node, value, next));
                match met {
                    Some(met) => holds(met),
                    None => (holds(true) == Some(true) && holds(false) == Some(true)).then_some(true),
                }
            }
            ("$ref", _) => self.node(part.node.at(resolve(part.node.root, given.as_str()?)?), value, next),
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(n)) => {
                let order = compare(n, given.as_number()?);
                Some(match keyword {
                    "minimum" => order.is_ge(),
                    "maximum" => order.is_le(),
                    "exclusiveMinimum" => order.is_gt(),
                    _ => order.is_lt(),
                })
            }
            // Decimals are divided by validators in more than one way.
            ("multipleOf", Value::Number(n)) => {
                let (n, step) = (json::integer(n)?, json::integer(given.as_number()?)?);
                (step != 0).then(|| n % step == 0)
            }
            (ASSERTED_FORMAT, Value::String(_)) => None,
            // A listed `1` is `1.0` as well.
            (WRITTEN_WHOLE, Value::Number(n)) => {
                if json::is_whole(n) {
                    None
                } else {
                    Some(false)
                }
            }
            ("minLength", Value::String(s)) => Some(s.chars().count() as u64 >= as_count(given)?),
            ("maxLength", Value::String(s)) => Some(s.chars().count() as u64 <= as_count(given)?),
            ("pattern", Value::String(s)) => matches(given.as_str()?, s),
            (_, Value::Array(items)) => self.array(part, keyword, given, items),
            (_, Value::Object(members)) => self.object(part, keyword, given, value, members, followed),
            (unknown, _) => (!unknown.starts_with("$dynamic")).then_some(true),
        }
    }

    fn array(&mut self, part: &Part<'_>, keyword: &str, given: &Value, items: &[Value]) -> Option<bool> {
        let count = |n: usize, holds: fn(u64, u64) -> bool| Some(holds(n as u64, as_count(given)?));
        match keyword {
            "minItems" => count(items.len(), |n, limit| n >= limit),
            "maxItems" => count(items.len(), |n, limit| n <= limit),
            "uniqueItems" => Some(
                given != &Value::Bool(true)
                    || !items.iter().enumerate().any(|(i, a)| items[..i].iter().any(|b| json::equal(a, b))),
            ),
            "prefixItems" => {
                every(part.list(keyword).zip(items).map(|(node, item)| self.node(node, item, 0)))
            }
            "items" => {
                let from = part.list("prefixItems").count();
                every(items.iter().skip(from).map(|item| self.node(part.node.at(given), item, 0)))
            }
            "contains" => {
                let (mut least, mut most) = (0, 0);
                for item in items {
                    let (l, m) = self.count([part.node.at(given)].into_iter(), item, 0);
                    (least, most) = (least + l as u64, most + m as u64);
                }
                let wanted = part.get("minContains").map_or(Some(1), as_count)?;
                let allowed = part.get("maxContains").map_or(Some(u64::MAX), as_count)?;
                if most < wanted || least > allowed {
                    Some(false)
                } else {
                    (least >= wanted && most <= allowed).then_some(true)
                }
            }
            "unevaluatedItems" => (given == &Value::Bool(true)).then_some(true),
            _ => Some(true),
        }
    }

    fn object(
        &mut self,
        part: &Part<'_>,
        keyword: &str,
        given: &Value,
        value: &Value,
        members: &serde_json::Map<String, Value>,
        followed: usize,
    ) -> Option<bool> {
        let names = |given: &Value| -> Option<bool> {
            Some(given.as_array()?.iter().filter_map(Value::as_str).all(|n| members.contains_key(n)))
        };
        match keyword {
            "required" => names(given),
            "minProperties" => Some(members.len() as u64 >= as_count(given)?),
            "maxProperties" => Some(members.len() as u64 <= as_count(given)?),
            "properties" => every(
                part.map(keyword)
                    .filter_map(|(name, node)| Some((node, members.get(name)?)))
                    .map(|(node, member)| self.node(node, member, 0)),
            ),
            "patternProperties" | "additionalProperties"
                if part.map("patternProperties").count() > limits::PATTERNS =>
            {
                None
            }
            "patternProperties" => every(
                part.map(keyword)
                    .flat_map(|(pattern, node)| {
                        members.iter().map(move |(name, member)| (pattern, node, name, member))
                    })
                    .map(|(pattern, node, name, member)| match matches(pattern, name)? {
                        true => self.node(node, member, 0),
                        false => Some(true),
                    }),
            ),
            "additionalProperties" => {
                let declared = part.get("properties").and_then(Value::as_object);
                every(
                    members.iter().filter(|(name, _)| !declared.is_some_and(|d| d.contains_key(*name))).map(
                        |(name, member)| {
                            for (pattern, _) in part.map("patternProperties") {
                                if matches(pattern, name)? {
                                    return Some(true);
                                }
                            }
                            self.node(part.node.at(given), member, 0)
                        },
                    ),
                )
            }
            "propertyNames" => every(
                members.keys().map(|name| self.node(part.node.at(given), &Value::String(name.clone()), 0)),
            ),
            "dependentRequired" => every(
                given
                    .as_object()?
                    .iter()
                    .filter(|(name, _)| members.contains_key(*name))
                    .map(|(_, needs)| names(needs)),
            ),
            "dependentSchemas" => every(
                part.map(keyword)
                    .filter(|(name, _)| members.contains_key(*name))
                    .map(|(_, node)| self.node(node, value, followed + 1)),
            ),
            "unevaluatedProperties" => (given == &Value::Bool(true)).then_some(true),
            _ => Some(true),
        }
    }
}
