//! Patterns as sets of texts: is every text that one pattern takes taken by another?
//!
//! Decided by walking two automata together, and a third that holds the walk to valid UTF-8. Patterns beyond automata
//! (look-around, back-references) or beyond the budget are not decided.

use std::{cell::RefCell, collections::HashMap};

use regex::{Regex, RegexBuilder};
use regex_automata::{
    Anchored, Input,
    dfa::{Automaton, StartKind, dense},
    util::{primitives::StateID, syntax},
};

use super::ecma::translate;

/// Bytes of one automaton. ASCII patterns of real tools need under 100 KB.
const AUTOMATON_BYTES: usize = 4 << 20;

/// Triples of states walked. Real pairs need under 500.
const STATES: usize = 6_000;

/// Patterns kept compiled: those of one tool.
const COMPILED: usize = 256;

/// Whether a pattern takes a text, as JSON Schema searches; nothing where the pattern is beyond the engine.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> Option<bool> {
    thread_local! {
        // One pattern is asked of every property of a tool, and compiling costs a thousand times what asking does.
        static KNOWN: RefCell<HashMap<String, Option<Regex>>> = RefCell::new(HashMap::new());
    }
    let compile = || RegexBuilder::new(&translate(pattern)?).size_limit(1 << 20).build().ok();
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= COMPILED && !known.contains_key(pattern) {
            known.clear();
        }
        if !known.contains_key(pattern) {
            known.insert(pattern.to_owned(), compile());
        }
        Some(known.get(pattern)?.as_ref()?.is_match(text))
    })
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inclusion {
    /// Every text.
    Proved,
    /// Not this one, the shortest there is.
    Refuted(String),
}

/// Whether every text that `inner` takes (anywhere in it, as JSON Schema searches) is taken by `outer`; nothing where a
/// pattern is beyond the engine.
#[must_use]
pub fn included(inner: &str, outer: &str) -> Option<Inclusion> {
    let (inner, outer) = (automaton(&translate(inner)?)?, automaton(&translate(outer)?)?);
    let text = automaton(r"(?s)\A.*\z")?;
    walk(&inner, &outer, &text)
}

fn automaton(pattern: &str) -> Option<dense::DFA<Vec<u32>>> {
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
}

/// A state, and whether the pattern was found before it.
type Reached = (StateID, bool);

fn walk(
    inner: &dense::DFA<Vec<u32>>,
    outer: &dense::DFA<Vec<u32>>,
    text: &dense::DFA<Vec<u32>>,
) -> Option<Inclusion> {
    let start = |dfa: &dense::DFA<Vec<u32>>| -> Option<Reached> {
        let state = dfa.start_state_forward(&Input::new("").anchored(Anchored::No)).ok()?;
        Some((state, dfa.is_match_state(state)))
    };
    let step = |dfa: &dense::DFA<Vec<u32>>, (state, found): Reached, byte: u8| -> Reached {
        if found {
            return (state, true);
        }
        let next = dfa.next_state(state, byte);
        (next, dfa.is_match_state(next))
    };
    let accepts = |dfa: &dense::DFA<Vec<u32>>, (state, found): Reached| {
        found || dfa.is_match_state(dfa.next_eoi_state(state))
    };
    // Readable bytes first, so that the text that is found reads well.
    let order = (b'a'..=b'z').chain(b'0'..=b'9').chain(b'A'..=b'Z').chain(b' '..=b'/').chain(0..=255);
    let bytes: Vec<u8> = {
        let mut seen = [false; 256];
        order.filter(|b| !std::mem::replace(&mut seen[usize::from(*b)], true)).collect()
    };
    type Triple = (Reached, Reached, Reached);
    let first: Triple = (start(inner)?, start(outer)?, start(text)?);
    // Where each triple was reached from, and by which byte.
    let mut from: HashMap<Triple, Option<(Triple, u8)>> = HashMap::from([(first, None)]);
    let mut queue = std::collections::VecDeque::from([first]);
    while let Some(here) = queue.pop_front() {
        if accepts(inner, here.0) && !accepts(outer, here.1) && accepts(text, here.2) {
            return Some(Inclusion::Refuted(spelled(&from, here)?));
        }
        for byte in &bytes {
            let next = (step(inner, here.0, *byte), step(outer, here.1, *byte), step(text, here.2, *byte));
            let hopeless =
                inner.is_dead_state(next.0.0) && !next.0.1 || next.1.1 || text.is_dead_state(next.2.0);
            let quit = inner.is_quit_state(next.0.0) || outer.is_quit_state(next.1.0);
            if quit || from.len() > STATES {
                return None;
            }
            if !hopeless && !from.contains_key(&next) {
                from.insert(next, Some((here, *byte)));
                queue.push_back(next);
            }
        }
    }
    Some(Inclusion::Proved)
}

fn spelled<T: std::hash::Hash + Eq + Copy>(from: &HashMap<T, Option<(T, u8)>>, end: T) -> Option<String> {
    let (mut bytes, mut at) = (Vec::new(), end);
    while let Some(Some((before, byte))) = from.get(&at) {
        bytes.push(*byte);
        at = *before;
    }
    bytes.reverse();
    String::from_utf8(bytes).ok()
}
