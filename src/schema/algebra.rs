//! The set algebra of the `jsonschema` crate (`canonical`, marked experimental): the last one asked. Its "yes" is a
//! proof; its difference is a recipe for values; everything else is "unknown".

use jsonschema::{
    Draft,
    canonical::{CanonicalSchema, CanonicalizationError, Containment, Satisfiability},
};
use serde_json::Value;

use super::limits;

/// What the algebra says.
pub enum Outcome {
    /// Proved.
    Contained,
    /// The values of the first that the second rejects, as a schema.
    Difference(Value),
    /// Neither, and why.
    Unknown(String),
}

/// Asks for containment of two 2020-12 schemas.
#[must_use]
pub fn contained(inner: &Value, outer: &Value) -> Outcome {
    let nodes = limits::nodes(inner) + limits::nodes(outer);
    if nodes > limits::ALGEBRA_NODES {
        return Outcome::Unknown(format!(
            "the pair has {nodes} members, more than the set algebra is asked about"
        ));
    }
    let unions = unions(inner) + unions(outer);
    if unions > limits::ALGEBRA_UNIONS {
        return Outcome::Unknown(format!(
            "the pair has {unions} unions, more than the set algebra is asked about"
        ));
    }
    if !plain_numbers(inner) || !plain_numbers(outer) {
        return Outcome::Unknown("it holds numbers larger than the set algebra reckons with".to_owned());
    }
    // It is experimental, and some of its promises to itself do not hold for every schema that a server may send.
    let asked = std::panic::catch_unwind(|| ask(inner, outer));
    match asked {
        Ok(outcome) => outcome.unwrap_or_else(|e| Outcome::Unknown(e.to_string())),
        Err(_) => Outcome::Unknown("the set algebra failed on it".to_owned()),
    }
}

/// Whether every number is one that a double keeps next to its neighbours.
fn plain_numbers(value: &Value) -> bool {
    const LARGEST: f64 = (1_u64 << 53) as f64;
    match value {
        Value::Number(n) => n.as_f64().is_some_and(|n| n.abs() <= LARGEST),
        Value::Object(map) => map.values().all(plain_numbers),
        Value::Array(items) => items.iter().all(plain_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}

fn ask(inner: &Value, outer: &Value) -> Result<Outcome, CanonicalizationError> {
    let (inner, outer) = (read(inner)?, read(outer)?);
    if outer.covers(&inner)? == Containment::Yes {
        return Ok(Outcome::Contained);
    }
    let difference = inner.subtract(&outer)?;
    Ok(match difference.satisfiability() {
        Satisfiability::No => Outcome::Contained,
        Satisfiability::Yes | Satisfiability::Unknown => Outcome::Difference(difference.to_json_schema()),
    })
}

fn read(schema: &Value) -> Result<CanonicalSchema, CanonicalizationError> {
    jsonschema::canonical::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(false)
        .offline()
        .canonicalize(schema)
}

fn unions(value: &Value) -> usize {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, v)| {
                let here = matches!(key.as_str(), "anyOf" | "oneOf" | "type") && v.is_array() || key == "if";
                usize::from(here) + unions(v)
            })
            .sum(),
        Value::Array(items) => items.iter().map(unions).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
