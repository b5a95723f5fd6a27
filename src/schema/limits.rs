//! Budgets. Each is a count, never a time, so that the same question always has the same answer; running out ends in
//! "unknown" (or in a refusal where the schema itself is too large), never in a guess.

use serde_json::Value;

/// Members of one schema. The largest real tool schema seen has about 4,000; this leaves room for ten of it.
pub const MAX_NODES: usize = 50_000;

/// Steps of one structural proof. Real pairs need below 2,000; a step costs well under a microsecond.
pub const PROOF_STEPS: u32 = 40_000;

/// Validators built before the compiled patterns that they share are let go: those of some dozen tools.
pub const CACHED_BUILDS: usize = 256;

/// Patterns of which it is remembered whether they are any: those of some tools, 50 bytes each as a rule.
pub const KNOWN_PATTERNS: usize = 256;

/// Pairs being proved at once, one inside the other. A stack of 8 MB holds so many in a debug build, and not twice.
pub const PROOF_DEPTH: usize = 128;

/// `patternProperties` of one schema beyond which names are not held against them.
pub const PATTERNS: usize = 64;

/// References followed to see whether two schemas are alike.
pub const ALIKE_REFERENCES: usize = 64;

/// Values tried in one search. A value costs a few microseconds on each side.
pub const SEARCH_VALUES: usize = 4_000;

/// Values tried first: nine searches of ten find what they look for among these.
pub const FIRST_VALUES: usize = 120;

/// Values kept for one place in a schema while a search builds larger ones.
pub const PLACE_VALUES: usize = 48;

/// Counterexamples kept: enough to give each change of a tool one of its own.
pub const COUNTEREXAMPLES: usize = 64;

/// Values that callers were seen to send kept for one place, so that room is left for those of its author.
pub const SEEN_VALUES: usize = 4;

/// The longest of them as JSON: a name, an address, a query. A larger one would be read by nobody in a witness.
pub const SEEN_BYTES: usize = 256;

/// Values tried to make one counterexample smaller.
pub const SHRINKING: usize = 200;

/// Objections read per value.
pub const REJECTIONS: usize = 16;

/// Places looked at in one search; the cases of nested unions multiply. Real pairs need below 3,000.
pub const SEARCH_PLACES: usize = 12_000;

/// Depth to which values are built; text nests no deeper than twice this ([`crate::json::MAX_DEPTH`]).
pub const VALUE_DEPTH: usize = 50;

/// Depth to which references are followed while values are built.
pub const UNROLLED: usize = 14;

/// The longest string or array that is built to show that a bound was crossed.
pub const LONGEST: u64 = 4_096;

/// Optional properties of one object beyond which those that both sides have alike are left out of values.
pub const ALIKE: usize = 40;

/// Ways through the unions of the other side that are told apart at one place.
pub const WAYS: usize = 32;

/// Different recorded values that others are built of. Each is looked at in every place of a schema.
pub const SEEN: usize = 200;

/// Cases of one union that values are built of.
pub const CASES: usize = 24;

/// Members of one value that is built.
pub const VALUE_NODES: usize = 16_384;

/// Schema size, in members of both sides, beyond which the set algebra is not asked: it takes seconds on wide objects
/// with many unions.
pub const ALGEBRA_NODES: usize = 1_500;

/// Unions (`anyOf`, `oneOf`, lists of types) beyond which the set algebra is not asked; its normal form multiplies them.
pub const ALGEBRA_UNIONS: usize = 24;

/// Members of a value at every depth, itself included.
#[must_use]
pub fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(nodes).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// A text of at most 300 characters.
#[must_use]
pub fn cut(text: &str) -> String {
    const LONGEST: usize = 300;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
