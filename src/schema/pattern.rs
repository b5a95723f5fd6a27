//! Patterns as sets of texts: is every text that one pattern takes taken by another?
//!
//! Decided by walking two automata together, and a third that holds the walk to valid UTF-8. Patterns beyond automata
//! (look-around, back-references) or beyond the budget are not decided.

use std::collections::HashMap;

use regex_automata::{
    Anchored, Input,
    dfa::{Automaton, StartKind, dense},
    util::{primitives::StateID, syntax},
};

/// Bytes of one automaton. ASCII patterns of real tools need under 100 KB.
const AUTOMATON_BYTES: usize = 4 << 20;

/// Triples of states walked. Real pairs need under 500.
const STATES: usize = 6_000;

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inclusion {
    /// Every text.
    Proved,
    /// Not this one, the shortest there is.
    Refuted(String),
}

/// ECMA-262's white space and line terminators (`\\s`), for use inside a class.
const SPACE: &str = "\\t\\n\\x0B\\x0C\\r \\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}\\u{feff}";

/// An ECMA-262 pattern in the words of the `regex` crates: its classes are ASCII, and `.` takes no line terminator.
#[must_use]
pub fn translate(pattern: &str) -> String {
    let (mut out, mut chars, mut in_class) = (String::new(), pattern.chars(), false);
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('d') => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
                Some('w') => out.push_str(if in_class { "A-Za-z0-9_" } else { "[A-Za-z0-9_]" }),
                Some('D') if !in_class => out.push_str("[^0-9]"),
                Some('W') if !in_class => out.push_str("[^A-Za-z0-9_]"),
                Some('s') if in_class => out.push_str(SPACE),
                Some('s') => out.extend(["[", SPACE, "]"]),
                Some('S') if !in_class => out.extend(["[^", SPACE, "]"]),
                Some('/') => out.push('/'),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            // Set operators that ECMA-262 does not have.
            '&' | '~' if in_class => out.extend(['\\', c]),
            '.' if !in_class => out.push_str("[^\\n\\r\\u{2028}\\u{2029}]"),
            _ => out.push(c),
        }
    }
    out
}

/// Whether every text that `inner` takes (anywhere in it, as JSON Schema searches) is taken by `outer`; nothing where a
/// pattern is beyond the engine.
#[must_use]
pub fn included(inner: &str, outer: &str) -> Option<Inclusion> {
    // Word boundaries are not modelled; a negated class inside a class, a property or a control letter is not translated.
    const BEYOND: [&str; 8] = ["\\b", "\\B", "\\p", "\\P", "\\c", "(?i", "(?m", "(?s"];
    let negated = |p: &str| {
        let inside = p.split('[').skip(1).filter_map(|s| s.split(']').next());
        inside.into_iter().any(|class| ["\\D", "\\W", "\\S"].iter().any(|n| class.contains(n)))
    };
    if [inner, outer].iter().any(|p| negated(p) || BEYOND.iter().any(|b| p.contains(b))) {
        return None;
    }
    let (inner, outer) = (automaton(&translate(inner))?, automaton(&translate(outer))?);
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
