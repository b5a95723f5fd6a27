//! Schemas as sets of texts, decided: is there a text that one side takes and the other does not?
//!
//! `pattern`, lengths, listed texts and every way of putting them together (`allOf`, `anyOf`, `oneOf`, `not`, `if`,
//! references) become a [`Formula`] over automata. The automata are walked together, with one more that holds the walk
//! to valid UTF-8, and the formula is asked at every step. Beyond the budget nothing is decided.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    rc::Rc,
};

use regex_automata::{
    Anchored, Input,
    dfa::{Automaton, StartKind, dense},
    util::{primitives::StateID, syntax},
};
use serde_json::Value;

use super::{
    FastMap, FastSet,
    dialect::{ASSERTED_FORMAT, holds_key, resolve},
    ecma,
    facts::{Node, Part, as_count, named_types, types},
    limits,
};

/// Bytes of one automaton. ASCII patterns of real tools need under 100 KB.
const AUTOMATON_BYTES: usize = 1 << 20;
/// Tuples of states walked. Real pairs need under 500.
const STATES: usize = 2_000;
/// Automata in one formula; the walk costs one step in each.
const LEAVES: usize = 16;
/// Keywords of one formula.
const READ: usize = 1_000;
/// Lengths that are counted by an automaton, a few states for each character.
const LONGEST: u64 = 300;
/// Listed texts that are made into an automaton.
const LISTED: usize = 300;
/// Automata kept: those of one tool.
const KEPT: usize = 64;

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// No text is in the first and not in the second.
    None,
    /// This one is, the shortest there is.
    Text(String),
}

/// A text that a conjunction takes and a further schema does not; no further schema takes nothing. Nothing is answered
/// where the outer side says more of texts than is modelled, or beyond the budget. What the inner side says beyond that
/// is passed over, so that only [`Difference::None`] is a proof.
pub fn difference(inner: &[Part<'_>], outer: Option<Outer<'_>>) -> Option<Difference> {
    let mut leaves = Leaves::default();
    let mut all = Vec::new();
    for part in inner {
        for (keyword, value) in part.keywords {
            all.extend(leaves.keyword(part, keyword, value, 0));
        }
    }
    all.push(match outer {
        None => Formula::Always,
        Some(Outer::Keyword(part, keyword, value)) => {
            Formula::Not(Box::new(leaves.keyword(part, keyword, value, 0)?))
        }
        Some(Outer::Schemas(nodes)) => {
            let taken = nodes.iter().map(|node| leaves.schema(*node, 0)).collect::<Option<_>>()?;
            Formula::Not(Box::new(Formula::All(taken)))
        }
    });
    let automata = leaves.patterns.iter().map(|p| automaton(p)).collect::<Option<Vec<_>>>()?;
    walk(&automata, &Formula::All(all))
}

/// Whether every text that a pattern takes is taken by one of others, or listed; nothing beyond the budget.
pub fn covered(pattern: &str, others: &[&str], listed: &[Value]) -> Option<bool> {
    let mut leaves = Leaves::default();
    let mut taken = others.iter().map(|p| leaves.leaf(ecma::translate(p)?)).collect::<Option<Vec<_>>>()?;
    taken.push(leaves.listed(listed)?);
    let own = leaves.leaf(ecma::translate(pattern)?)?;
    let automata = leaves.patterns.iter().map(|p| automaton(p)).collect::<Option<Vec<_>>>()?;
    let left = walk(&automata, &Formula::All(vec![own, Formula::Not(Box::new(Formula::Any(taken)))]))?;
    Some(left == Difference::None)
}

/// What texts are held against.
pub enum Outer<'a> {
    /// One keyword of a part.
    Keyword(&'a Part<'a>, &'a str, &'a Value),
    /// A conjunction.
    Schemas(&'a [Node<'a>]),
}

/// Whether a conjunction says anything of texts that takes an automaton to follow; lengths alone are counted.
pub fn speaks(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|p| p.keywords.iter().any(|(k, v)| k == "pattern" || k == "not" && names_a_pattern(v)))
}

/// Whether a conjunction says several things of texts, one of them by a pattern.
pub fn contends(parts: &[Part<'_>]) -> bool {
    let says = |k: &&String| matches!(k.as_str(), "pattern" | "minLength" | "maxLength" | "not");
    speaks(parts) && parts.iter().flat_map(|p| p.keywords.keys()).filter(says).count() > 1
}

/// Whether a `pattern` stands anywhere in a schema.
pub fn names_a_pattern(schema: &Value) -> bool {
    holds_key(schema, "pattern")
}

/// A set of texts by way of the sets that the leaves stand for.
enum Formula {
    Always,
    Never,
    Leaf(usize),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
    One(Vec<Formula>),
}

impl Formula {
    /// The truth, where the leaves that are known decide it.
    fn holds(&self, leaf: &impl Fn(usize) -> Option<bool>) -> Option<bool> {
        match self {
            Self::Always => Some(true),
            Self::Never => Some(false),
            Self::Leaf(i) => leaf(*i),
            Self::Not(of) => of.holds(leaf).map(|b| !b),
            Self::All(all) => fold(all, leaf, false),
            Self::Any(all) => fold(all, leaf, true),
            Self::One(all) => {
                let (mut yes, mut open) = (0, false);
                for of in all {
                    match of.holds(leaf) {
                        Some(true) => yes += 1,
                        Some(false) => {}
                        None => open = true,
                    }
                }
                if yes > 1 {
                    Some(false)
                } else if open {
                    None
                } else {
                    Some(yes == 1)
                }
            }
        }
    }
}

/// `decisive` if any part says so, the opposite if all say the opposite.
fn fold(all: &[Formula], leaf: &impl Fn(usize) -> Option<bool>, decisive: bool) -> Option<bool> {
    let mut open = false;
    for of in all {
        match of.holds(leaf) {
            Some(b) if b == decisive => return Some(decisive),
            Some(_) => {}
            None => open = true,
        }
    }
    if open { None } else { Some(!decisive) }
}

/// The automata of a formula, as patterns of the `regex` crates.
#[derive(Default)]
struct Leaves {
    patterns: Vec<String>,
    /// Keywords read; references can multiply them.
    read: usize,
}

impl Leaves {
    fn leaf(&mut self, pattern: String) -> Option<Formula> {
        if let Some(i) = self.patterns.iter().position(|p| *p == pattern) {
            return Some(Formula::Leaf(i));
        }
        if self.patterns.len() == LEAVES {
            return None;
        }
        self.patterns.push(pattern);
        Some(Formula::Leaf(self.patterns.len() - 1))
    }

    /// The texts of a schema, exactly.
    fn schema(&mut self, node: Node<'_>, depth: usize) -> Option<Formula> {
        if depth > limits::UNROLLED {
            return None;
        }
        match node.schema {
            Value::Bool(true) => Some(Formula::Always),
            Value::Bool(false) => Some(Formula::Never),
            Value::Object(keywords) => {
                let part = Part { keywords, node };
                let all = keywords.iter().map(|(k, v)| self.keyword(&part, k, v, depth));
                Some(Formula::All(all.collect::<Option<_>>()?))
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        }
    }

    /// The texts that meet a keyword, exactly.
    fn keyword(&mut self, part: &Part<'_>, keyword: &str, value: &Value, depth: usize) -> Option<Formula> {
        self.read += 1;
        if self.read > READ {
            return None;
        }
        match keyword {
            "type" => {
                Some(if named_types(value) & types::STRING == 0 { Formula::Never } else { Formula::Always })
            }
            "const" => self.listed(std::slice::from_ref(value)),
            "enum" => self.listed(value.as_array()?),
            "pattern" => self.leaf(ecma::translate(value.as_str()?)?),
            "minLength" => self.length(as_count(value)?, None),
            "maxLength" => self.length(0, Some(as_count(value)?)),
            // Known to validators alone.
            ASSERTED_FORMAT => None,
            "allOf" => Some(Formula::All(self.all(part, keyword, depth)?)),
            "anyOf" => Some(Formula::Any(self.all(part, keyword, depth)?)),
            "oneOf" => Some(Formula::One(self.all(part, keyword, depth)?)),
            "not" => Some(Formula::Not(Box::new(self.schema(part.node.at(value), depth + 1)?))),
            "$ref" => {
                let target = resolve(part.node.root, value.as_str()?)?;
                self.schema(part.node.at(target), depth + 1)
            }
            "if" => {
                let mut branch = |keyword: &str| match part.sub(keyword) {
                    None => Some(Formula::Always),
                    Some(node) => self.schema(node, depth + 1),
                };
                let (then, otherwise) = (branch("then")?, branch("else")?);
                let condition = self.schema(part.node.at(value), depth + 1)?;
                let unless = self.schema(part.node.at(value), depth + 1)?;
                Some(Formula::All(vec![
                    Formula::Any(vec![Formula::Not(Box::new(condition)), then]),
                    Formula::Any(vec![unless, otherwise]),
                ]))
            }
            // Everything else speaks of other types, or of none.
            _ => Some(Formula::Always),
        }
    }

    fn all(&mut self, part: &Part<'_>, keyword: &str, depth: usize) -> Option<Vec<Formula>> {
        part.list(keyword).map(|node| self.schema(node, depth + 1)).collect()
    }

    fn listed(&mut self, values: &[Value]) -> Option<Formula> {
        let texts: Vec<String> = values.iter().filter_map(Value::as_str).map(regex::escape).collect();
        match texts.len() {
            0 => Some(Formula::Never),
            1..=LISTED => self.leaf(format!(r"(?s)\A(?:{})\z", texts.join("|"))),
            _ => None,
        }
    }

    fn length(&mut self, least: u64, most: Option<u64>) -> Option<Formula> {
        if least == 0 && most.is_none() {
            return Some(Formula::Always);
        }
        if least.max(most.unwrap_or(0)) > LONGEST {
            return None;
        }
        let most = most.map(|n| n.to_string()).unwrap_or_default();
        self.leaf(format!(r"(?s)\A.{{{least},{most}}}\z"))
    }
}

type Dfa = dense::DFA<Vec<u32>>;

fn automaton(pattern: &str) -> Option<Rc<Dfa>> {
    thread_local! {
        // The same few patterns are asked about again and again, and building one costs more than walking it.
        static BUILT: RefCell<HashMap<String, Option<Rc<Dfa>>>> = RefCell::new(HashMap::new());
    }
    let build = || {
        dense::Builder::new()
            .configure(
                dense::Config::new()
                    .start_kind(StartKind::Unanchored)
                    .dfa_size_limit(Some(AUTOMATON_BYTES))
                    .determinize_size_limit(Some(AUTOMATON_BYTES)),
            )
            .syntax(syntax::Config::new().unicode(true).utf8(true))
            .build(pattern)
            .ok()
            .map(Rc::new)
    };
    BUILT.with_borrow_mut(|built| {
        if let Some(known) = built.get(pattern) {
            return known.clone();
        }
        if built.len() >= KEPT {
            built.clear();
        }
        let new = build();
        built.insert(pattern.to_owned(), new.clone());
        new
    })
}

/// From where a tuple of states was first reached, and by which byte.
type Ways = FastMap<Vec<Reached>, Option<(Vec<Reached>, u8)>>;

/// A state of one automaton, and whether its pattern was found already.
type Reached = (StateID, bool);

fn walk(automata: &[Rc<Dfa>], formula: &Formula) -> Option<Difference> {
    let text = automaton(r"(?s)\A.*\z")?;
    let all: Vec<&Dfa> = automata.iter().map(Rc::as_ref).chain([text.as_ref()]).collect();
    let last = all.len() - 1;
    let first = all
        .iter()
        .map(|dfa| {
            let state = dfa.start_state_forward(&Input::new("").anchored(Anchored::No)).ok()?;
            Some((state, dfa.is_match_state(state)))
        })
        .collect::<Option<Vec<Reached>>>()?;
    let step = |dfa: &Dfa, (state, found): Reached, byte: u8| -> Reached {
        if found {
            return (state, true);
        }
        let next = dfa.next_state(state, byte);
        (next, dfa.is_match_state(next))
    };
    let accepts =
        |i: usize, (state, found): Reached| found || all[i].is_match_state(all[i].next_eoi_state(state));
    // What no further byte can change.
    let settled = |i: usize, (state, found): Reached| match (found, all[i].is_dead_state(state)) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let bytes = telling_bytes(&all);
    let mut from: Ways = [(first.clone(), None)].into_iter().collect();
    let mut queue = VecDeque::from([first]);
    while let Some(here) = queue.pop_front() {
        if accepts(last, here[last]) && formula.holds(&|i| Some(accepts(i, here[i]))) == Some(true) {
            return Some(Difference::Text(spelled(&from, here)?));
        }
        for byte in &bytes {
            let next: Vec<Reached> =
                all.iter().zip(&here).map(|(dfa, state)| step(dfa, *state, *byte)).collect();
            if all.iter().zip(&next).any(|(dfa, (state, _))| dfa.is_quit_state(*state)) || from.len() > STATES
            {
                return None;
            }
            let hopeless = all[last].is_dead_state(next[last].0)
                || formula.holds(&|i| settled(i, next[i])) == Some(false);
            if !hopeless && !from.contains_key(&next) {
                from.insert(next.clone(), Some((here.clone(), *byte)));
                queue.push_back(next);
            }
        }
    }
    Some(Difference::None)
}

/// One byte of each kind that some automaton tells from the others; readable ones first, so that the text that is found
/// reads well.
fn telling_bytes(all: &[&Dfa]) -> Vec<u8> {
    let order = (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z').chain(b' '..=b'/').chain(0..=255);
    let mut seen = FastSet::default();
    order
        .filter(|byte| seen.insert(all.iter().map(|d| d.byte_classes().get(*byte)).collect::<Vec<u8>>()))
        .collect()
}

fn spelled(from: &Ways, end: Vec<Reached>) -> Option<String> {
    let (mut bytes, mut at) = (Vec::new(), &end);
    while let Some(Some((before, byte))) = from.get(at) {
        bytes.push(*byte);
        at = before;
    }
    bytes.reverse();
    String::from_utf8(bytes).ok()
}
