//! Patterns asked about one text.

use std::{cell::RefCell, collections::HashMap};

use regex::{Regex, RegexBuilder};

use super::ecma::translate;

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
