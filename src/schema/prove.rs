//! A structural proof that every value of one schema is a value of another: sound, incomplete, quick.
//!
//! Both schemas are walked together, keyword by keyword. "No" never comes from here: what is not proved is looked for
//! ([`super::witness`]). Recursion is a greatest fixpoint: a pair met again *deeper in the value* is assumed.

mod numbers;
mod objects;
mod words;

use serde_json::Value;

use self::{
    numbers::{bounded, multiple},
    objects::closed_at,
    words::{asserts_nothing, said, same},
};
use super::{
    FastMap, FastSet, evaluate,
    facts::{self, Flat, Node, Part, types},
    limits,
    text::{self, Difference},
};

/// Whether containment of two 2020-12 schemas is proved.
#[must_use]
pub fn contained(inner: &Value, outer: &Value) -> bool {
    let mut prover = Prover { steps: limits::PROOF_STEPS, ..Prover::default() };
    prover.contains(&[Node { schema: inner, root: inner }], Node { schema: outer, root: outer }, 0)
}

/// What a question to automata costs, in steps.
const AUTOMATA: usize = 1_000;

/// A conjunction and what it is to lie in.
type Pair = (Vec<usize>, usize);

#[derive(Default)]
struct Prover {
    steps: u32,
    /// Pairs being proved, with the depth in the value at which they were met.
    assumed: Vec<(Pair, usize)>,
    /// The first of `assumed` that the present proof has leant on.
    leant: Leant,
    failed: FastSet<Pair>,
    proved: FastMap<Pair, Proved>,
    /// What was proved by leaning on pairs that are still being proved, in order. None of them leans on a position that
    /// is no longer in `assumed`.
    provisional: Vec<Pair>,
}

/// What was proved, and on what condition.
#[derive(Clone, Copy)]
struct Proved {
    leant: Leant,
    /// The depth in the value at which it was proved. What is assumed holds deeper than where it was assumed, so a proof
    /// that leans on something may be used again at its own depth and below.
    depth: usize,
}

/// A position in [`Prover::assumed`], or nothing, which is larger than all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Leant(usize);

impl Leant {
    const NOWHERE: Self = Self(usize::MAX);
}

impl Default for Leant {
    fn default() -> Self {
        Self::NOWHERE
    }
}

type Inner<'a, 'n> = &'n [Node<'a>];

impl Prover {
    /// Whether the conjunction `inner` lies in `outer`. `depth` counts steps into the value.
    fn contains<'a>(&mut self, inner: Inner<'a, '_>, outer: Node<'a>, depth: usize) -> bool {
        // What is being proved is on the stack, and a chain of references can be longer than one.
        if self.steps == 0 || self.assumed.len() >= limits::PROOF_DEPTH {
            return false;
        }
        self.steps -= 1;
        if outer.schema == &Value::Bool(true) {
            return true;
        }
        let mut ids: Vec<usize> = inner.iter().map(|n| n.id()).collect();
        ids.sort_unstable();
        ids.dedup();
        let key = (ids, outer.id());
        if let Some(i) = self.assumed.iter().position(|(pair, _)| *pair == key) {
            if depth > self.assumed[i].1 {
                self.leant = self.leant.min(Leant(i));
                return true;
            }
            return false;
        }
        if self.failed.contains(&key) {
            return false;
        }
        if let Some(known) = self.proved.get(&key)
            && (known.leant == Leant::NOWHERE || depth >= known.depth)
        {
            self.leant = self.leant.min(known.leant);
            return true;
        }
        let (position, first) = (Leant(self.assumed.len()), self.provisional.len());
        let before = std::mem::take(&mut self.leant);
        self.assumed.push((key.clone(), depth));
        let proved = self.contains_unseen(inner, outer, depth);
        self.assumed.pop();
        let leant = std::mem::replace(&mut self.leant, before);
        if !proved {
            // What leant on this pair goes with it.
            for pair in self.provisional.drain(first..) {
                self.proved.remove(&pair);
            }
            self.failed.insert(key);
            return false;
        }
        // A proof that leans on nothing before itself stands, and with it all that leant on it.
        let stands = leant >= position;
        if stands {
            for pair in self.provisional.drain(first..) {
                self.proved.entry(pair).and_modify(|p| p.leant = Leant::NOWHERE);
            }
        } else {
            // What leant on this pair leans on what it leans on: its own position is given to another now.
            for pair in &self.provisional[first..] {
                self.proved.entry(pair.clone()).and_modify(|p| p.leant = p.leant.min(leant));
            }
            self.provisional.push(key.clone());
            self.leant = self.leant.min(leant);
        }
        let leant = if stands { Leant::NOWHERE } else { leant };
        self.proved.insert(key, Proved { leant, depth });
        true
    }

    /// A step costs what its conjunction is long.
    fn spend(&mut self, parts: usize) {
        self.steps = self.steps.saturating_sub(u32::try_from(parts).unwrap_or(u32::MAX));
    }

    /// Whether every text of a conjunction meets one keyword.
    fn texts(&mut self, parts: &[Part<'_>], outer: &Part<'_>, keyword: &str, value: &Value) -> bool {
        self.spend(AUTOMATA);
        let outer = text::Outer::Keyword(outer, keyword, value);
        text::difference(parts, Some(outer)) == Some(Difference::None)
    }

    fn contains_unseen<'a>(&mut self, inner: Inner<'a, '_>, outer: Node<'a>, depth: usize) -> bool {
        // A schema lies in itself; references mean the same only in the same document.
        if inner.iter().any(|n| same(*n, outer)) {
            return true;
        }
        let parts = match facts::flatten(inner) {
            Flat::Nothing => return true,
            Flat::Unclear => return false,
            Flat::Parts(parts) => parts,
        };
        self.spend(parts.len());
        let wanted = match facts::flatten(&[outer]) {
            Flat::Nothing => return self.empty(inner, depth),
            Flat::Unclear => return false,
            Flat::Parts(wanted) => wanted,
        };
        if self.empty(inner, depth) {
            return true;
        }
        let only_texts = facts::types_of(&parts, 3) == types::STRING;
        let texts = |keyword: &str, value: &Value| {
            only_texts && whole_texts(keyword) && (text::speaks(&parts) || text::names_a_pattern(value))
        };
        let met = wanted.iter().all(|part| {
            part.keywords.iter().all(|(keyword, value)| {
                asserts_nothing(keyword, value)
                    || self.meets(inner, &parts, part, keyword, value, depth)
                    || texts(keyword, value) && self.texts(&parts, part, keyword, value)
                    || self.split(inner, &parts, part.node, keyword, depth)
            })
        });
        met || only_texts && text::speaks(&parts) && self.no_text(&parts)
    }

    /// Whether a conjunction takes no text.
    fn no_text(&mut self, parts: &[Part<'_>]) -> bool {
        self.spend(AUTOMATA);
        text::difference(parts, None) == Some(Difference::None)
    }

    /// Whether every value of the conjunction meets one keyword.
    fn meets<'a>(
        &mut self,
        inner: Inner<'a, '_>,
        parts: &[Part<'a>],
        outer: &Part<'a>,
        keyword: &str,
        value: &'a Value,
        depth: usize,
    ) -> bool {
        // Said in the same words.
        if parts.iter().any(|p| said(p, outer, keyword, value)) {
            return true;
        }
        let mask = facts::types_of(parts, 3);
        if facts::applies_to(keyword).is_some_and(|types| mask & types == 0) {
            return true;
        }
        if let Some(values) = facts::finite(parts)
            && values.iter().all(|v| {
                evaluate::keyword(outer, keyword, value, v) == Some(true)
                    || evaluate::parts(parts, v) == Some(false)
            })
        {
            return true;
        }
        let at_least =
            |n: Option<u64>| n.zip(facts::as_count(value)).is_some_and(|(have, want)| have >= want);
        let at_most = |n: Option<u64>| n.zip(facts::as_count(value)).is_some_and(|(have, want)| have <= want);
        let zero = facts::as_count(value) == Some(0);
        match keyword {
            "type" => mask & !facts::named_types(value) == 0,
            "enum" if mask & !(types::NULL | types::BOOLEAN) == 0 => {
                let all = [Value::Null, Value::Bool(true), Value::Bool(false)];
                all.iter()
                    .filter(|v| facts::type_of(v) & mask != 0)
                    .all(|v| value.as_array().is_some_and(|listed| listed.contains(v)))
            }
            "const" => mask == types::NULL && value.is_null(),
            "minimum" | "exclusiveMinimum" => bounded(facts::lower(parts), value, keyword, mask, true),
            "maximum" | "exclusiveMaximum" => bounded(facts::upper(parts), value, keyword, mask, false),
            "multipleOf" => multiple(parts, value, mask),
            "minLength" | "minItems" if zero || at_least(facts::count(parts, keyword)) => true,
            "maxLength" | "maxItems" | "maxProperties" if at_most(facts::count(parts, keyword)) => true,
            // Items that a `contains` counts are items.
            "minItems" => parts
                .iter()
                .filter(|p| p.get("contains").is_some())
                .any(|p| at_least(p.get("minContains").map_or(Some(1), facts::as_count))),
            "maxItems" => parts.iter().any(|p| {
                p.sub("contains").is_some_and(|counted| {
                    at_most(p.get("maxContains").and_then(facts::as_count))
                        && self.all_items_meet(parts, counted, depth)
                })
            }),
            "minLength" | "maxLength" => text::speaks(parts) && self.texts(parts, outer, keyword, value),
            "maxProperties" => closed_at(parts).is_some_and(|n| at_most(Some(n))),
            "minProperties" => {
                let mut names: Vec<&str> = facts::required(parts).collect();
                names.sort_unstable();
                names.dedup();
                zero || at_least(facts::count(parts, keyword)) || at_least(Some(names.len() as u64))
            }
            "uniqueItems" => {
                value == &Value::Bool(false) || facts::count(parts, "maxItems").is_some_and(|n| n <= 1)
            }
            "pattern" => value.as_str().is_some_and(|want| {
                matches!(want, "" | ".*" | "^.*" | "^") || self.texts(parts, outer, keyword, value)
            }),
            "required" => value.as_array().is_some_and(|names| {
                names.iter().filter_map(Value::as_str).all(|name| facts::requires(parts, name))
            }),
            "properties" => outer.map("properties").all(|(name, schema)| {
                facts::property(parts, name).is_some_and(|met| self.contains(&met, schema, depth + 1))
            }),
            "additionalProperties" => self.rest_meets(parts, outer, depth),
            "patternProperties" if outer.map(keyword).count() > limits::PATTERNS => false,
            "patternProperties" => {
                outer.map(keyword).all(|(pattern, schema)| self.pattern_meets(parts, pattern, schema, depth))
            }
            "propertyNames" => self.names_meet(parts, outer.node.at(value), depth),
            "items" => {
                let from = outer.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                let to = facts::prefix(parts).max(from);
                (from..=to).all(|i| self.item_meets(parts, i, outer.node.at(value), depth))
            }
            "prefixItems" => {
                outer.list(keyword).enumerate().all(|(i, schema)| self.item_meets(parts, i, schema, depth))
            }
            "dependentRequired" => value.as_object().is_some_and(|map| {
                map.iter().all(|(name, needs)| {
                    self.never_has(parts, name, depth)
                        || needs.as_array().is_some_and(|needs| {
                            needs.iter().filter_map(Value::as_str).all(|n| facts::requires(parts, n))
                        })
                })
            }),
            "dependentSchemas" => outer.map(keyword).all(|(name, schema)| {
                self.never_has(parts, name, depth) || self.contains(inner, schema, depth)
            }),
            "contains" => {
                let least = outer.get("minContains").map_or(Some(1), facts::as_count);
                let most = outer.get("maxContains");
                least == Some(0) && most.is_none()
                    || facts::count(parts, "minItems").unwrap_or(0) >= least.unwrap_or(u64::MAX)
                        && most.is_none_or(|most| {
                            let items = facts::count(parts, "maxItems");
                            items.zip(facts::as_count(most)).is_some_and(|(items, most)| items <= most)
                        })
                        && self.all_items_meet(parts, outer.node.at(value), depth)
            }
            "anyOf" => outer.list(keyword).any(|branch| self.contains(inner, branch, depth)),
            "oneOf" => {
                let branches: Vec<_> = outer.list(keyword).collect();
                (0..branches.len()).any(|i| {
                    self.contains(inner, branches[i], depth)
                        && (0..branches.len()).all(|j| j == i || self.disjoint(inner, branches[j], depth))
                })
            }
            "not" => self.disjoint(inner, outer.node.at(value), depth),
            "if" => {
                let condition = outer.node.at(value);
                let then = outer.sub("then").is_none_or(|then| {
                    let mut with = inner.to_vec();
                    with.push(condition);
                    self.disjoint(inner, condition, depth) || self.contains(&with, then, depth)
                });
                then && outer.sub("else").is_none_or(|otherwise| {
                    self.contains(inner, otherwise, depth) || self.contains(inner, condition, depth)
                })
            }
            _ => false,
        }
    }

    /// Proves one keyword case by case over a union of the inner side.
    fn split<'a>(
        &mut self,
        inner: Inner<'a, '_>,
        parts: &[Part<'a>],
        outer: Node<'a>,
        keyword: &str,
        depth: usize,
    ) -> bool {
        for part in parts {
            for union in ["anyOf", "oneOf"] {
                if part.get(union).is_none() || part.list(union).count() == 0 {
                    continue;
                }
                // A branch that is there already was chosen by an outer case.
                if part.list(union).any(|b| inner.iter().any(|n| n.id() == b.id())) {
                    continue;
                }
                let proved = part.list(union).all(|branch| {
                    let mut with = inner.to_vec();
                    with.push(branch);
                    self.contains(&with, outer, depth)
                });
                if proved {
                    return true;
                }
            }
            if let (Some(condition), Some(then)) = (part.sub("if"), part.sub("then"))
                && !inner.iter().any(|n| n.id() == condition.id() || n.id() == then.id())
                && let Some(otherwise) = part.sub("else")
                && !inner.iter().any(|n| n.id() == otherwise.id())
            {
                let mut yes = inner.to_vec();
                yes.extend([condition, then]);
                let mut no = inner.to_vec();
                no.push(otherwise);
                if self.contains(&yes, outer, depth) && self.contains(&no, outer, depth) {
                    return true;
                }
            }
        }
        // Type by type, for the unions of the outer side.
        if matches!(keyword, "anyOf" | "oneOf" | "if" | "not") {
            let mask = facts::types_of(parts, 3);
            if mask.count_ones() > 1 && mask != types::ALL {
                return types::EACH.iter().filter(|t| mask & **t != 0).all(|t| {
                    let only = Node { schema: only(*t), root: only(*t) };
                    let mut with = inner.to_vec();
                    with.push(only);
                    self.contains(&with, outer, depth)
                });
            }
        }
        false
    }

    fn all_items_meet<'a>(&mut self, parts: &[Part<'a>], schema: Node<'a>, depth: usize) -> bool {
        (0..=facts::prefix(parts)).all(|i| self.item_meets(parts, i, schema, depth))
    }

    fn item_meets<'a>(&mut self, parts: &[Part<'a>], index: usize, schema: Node<'a>, depth: usize) -> bool {
        facts::count(parts, "maxItems").is_some_and(|most| most <= index as u64)
            || self.contains(&facts::item(parts, index), schema, depth + 1)
    }

    fn never_has(&mut self, parts: &[Part<'_>], name: &str, depth: usize) -> bool {
        facts::property(parts, name).is_some_and(|met| self.empty(&met, depth + 1))
    }

    fn disjoint<'a>(&mut self, inner: Inner<'a, '_>, other: Node<'a>, depth: usize) -> bool {
        let mut both = inner.to_vec();
        both.push(other);
        self.empty(&both, depth)
    }

    /// Whether a conjunction is proved to hold no value.
    fn empty<'a>(&mut self, nodes: Inner<'a, '_>, depth: usize) -> bool {
        if self.steps == 0 || depth > 24 {
            return false;
        }
        self.steps -= 1;
        let parts = match facts::flatten(nodes) {
            Flat::Nothing => return true,
            Flat::Unclear => return false,
            Flat::Parts(parts) => parts,
        };
        self.spend(parts.len());
        let mask = facts::types_of(&parts, 2);
        if mask == 0 {
            return true;
        }
        if let Some(values) = facts::finite(&parts) {
            return values.iter().all(|value| evaluate::parts(&parts, value) == Some(false));
        }
        if mask & !types::NUMBER == 0
            && let (Some((low, a)), Some((high, b))) = (facts::lower(&parts), facts::upper(&parts))
        {
            let order = facts::compare(low, high);
            if order.is_gt() || (order.is_eq() && (a || b)) {
                return true;
            }
        }
        for (only, low, high) in [
            (types::STRING, "minLength", "maxLength"),
            (types::ARRAY, "minItems", "maxItems"),
            (types::OBJECT, "minProperties", "maxProperties"),
        ] {
            if mask == only
                && let (Some(low), Some(high)) = (facts::count(&parts, low), facts::count(&parts, high))
                && low > high
            {
                return true;
            }
        }
        if mask == types::OBJECT {
            let names: Vec<&str> = facts::required(&parts).collect();
            if names.into_iter().any(|name| self.never_has(&parts, name, depth)) {
                return true;
            }
        }
        // One pattern that takes nothing is rarer than it costs to look for.
        if mask == types::STRING && text::contends(&parts) && self.no_text(&parts) {
            return true;
        }
        parts.iter().any(|part| {
            part.sub("not").is_some_and(|not| self.contains(nodes, not, depth))
                || ["anyOf", "oneOf"].iter().any(|union| {
                    part.get(union).is_some()
                        && !part.list(union).any(|b| nodes.iter().any(|n| n.id() == b.id()))
                        && part.list(union).all(|branch| self.disjoint(nodes, branch, depth))
                })
        })
    }
}

/// Keywords that automata decide of texts, once other ways have failed.
fn whole_texts(keyword: &str) -> bool {
    matches!(keyword, "enum" | "const" | "anyOf" | "oneOf" | "not" | "if")
}

/// A schema of one type only.
fn only(mask: u8) -> &'static Value {
    use std::sync::LazyLock;
    static SCHEMAS: LazyLock<Vec<(u8, Value)>> = LazyLock::new(|| {
        use serde_json::json;
        vec![
            (types::NULL, json!({"type": "null"})),
            (types::BOOLEAN, json!({"type": "boolean"})),
            (types::INTEGER, json!({"type": "integer"})),
            (types::FRACTION, json!({"type": "number", "not": {"type": "integer"}})),
            (types::STRING, json!({"type": "string"})),
            (types::ARRAY, json!({"type": "array"})),
            (types::OBJECT, json!({"type": "object"})),
        ]
    });
    SCHEMAS.iter().find(|(t, _)| *t == mask).map_or(&Value::Bool(true), |(_, s)| s)
}
