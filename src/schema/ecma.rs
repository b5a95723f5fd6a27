//! ECMA-262 regular expressions in the words of the `regex` crates, exactly or not at all.
//!
//! Every literal is written by its code point, so that no character means more to one side than to the other.

use std::{fmt::Write as _, iter::Peekable, str::Chars};

/// `\s`: white space and line terminators (ECMA-262, 22.2.2.9), as members of a class.
const SPACE: &str =
    r"\t-\r\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
const DIGIT: &str = "0-9";
const WORD: &str = "A-Za-z0-9_";

/// A pattern (JSON Schema searches with it, so it may match anywhere). Nothing where it holds what automata do not do
/// (look-around, word boundaries, back-references), what needs tables of Unicode (`\p`), a flag, or syntax
/// that is read in more than one way. A character is a code point, as with `u` (2020-12 core, 6.4).
#[must_use]
pub fn translate(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(2 * pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut names: Vec<String> = Vec::new();
    // Whether what stands last can be repeated. ECMA-262 repeats neither a repetition nor an assertion, where others
    // read a possessive repetition, or none.
    let mut repeatable = false;
    while let Some(c) = chars.next() {
        let repeats = matches!(c, '*' | '+' | '?' | '{');
        if repeats && !repeatable {
            return None;
        }
        match c {
            '\\' => match escape(&mut chars)? {
                Escape::Literal(c) => literal(&mut out, c),
                Escape::Class(members, negated) => {
                    out.extend([if negated { "[^" } else { "[" }, members, "]"]);
                }
            },
            '[' => class(&mut chars, &mut out)?,
            '.' => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '(' => out.push_str(group(&mut chars, &mut names)?),
            '{' => repetition(&mut chars, &mut out)?,
            '|' | ')' | '*' | '+' | '?' | '^' | '$' => out.push(c),
            ']' | '}' => return None,
            c => literal(&mut out, c),
        }
        if repeats && chars.next_if_eq(&'?').is_some() {
            // As few as possible: another match, and the same texts.
            out.push('?');
        }
        repeatable = !repeats && !matches!(c, '(' | '|' | '^' | '$');
    }
    Some(out)
}

type Rest<'p> = Peekable<Chars<'p>>;

enum Escape {
    Literal(char),
    /// Members of a class, and whether it is everything else.
    Class(&'static str, bool),
}

fn literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        // Writing to a `String` cannot fail.
        let _ = write!(out, "\\x{{{:x}}}", u32::from(c));
    }
}

/// What follows a backslash.
fn escape(chars: &mut Rest<'_>) -> Option<Escape> {
    Some(Escape::Literal(match chars.next()? {
        'd' => return Some(Escape::Class(DIGIT, false)),
        'D' => return Some(Escape::Class(DIGIT, true)),
        'w' => return Some(Escape::Class(WORD, false)),
        'W' => return Some(Escape::Class(WORD, true)),
        's' => return Some(Escape::Class(SPACE, false)),
        'S' => return Some(Escape::Class(SPACE, true)),
        't' => '\t',
        'n' => '\n',
        'r' => '\r',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'x' => hex(chars, 2)?,
        // Half of a surrogate pair is no character here.
        'u' if chars.peek() != Some(&'{') => hex(chars, 4)?,
        c if c.is_ascii_punctuation() || c == ' ' => c,
        _ => return None,
    }))
}

fn hex(chars: &mut Rest<'_>, digits: usize) -> Option<char> {
    let text: String = chars.by_ref().take(digits).collect();
    let plain = text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit());
    char::from_u32(plain.then(|| u32::from_str_radix(&text, 16).ok()).flatten()?)
}

/// What follows `(`; a name is left out. A name that stands twice is refused.
fn group(chars: &mut Rest<'_>, names: &mut Vec<String>) -> Option<&'static str> {
    if chars.next_if_eq(&'?').is_none() {
        return Some("(");
    }
    match chars.next()? {
        ':' => Some("(?:"),
        '<' => {
            let mut name = String::new();
            loop {
                match chars.next()? {
                    '>' => break,
                    c if c.is_ascii_alphanumeric() || c == '_' => name.push(c),
                    _ => return None,
                }
            }
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || names.contains(&name) {
                return None;
            }
            names.push(name);
            Some("(?:")
        }
        _ => None,
    }
}

/// What follows `{`: two numbers, or a text that ECMA-262 reads literally only without `u`.
fn repetition(chars: &mut Rest<'_>, out: &mut String) -> Option<()> {
    let mut inside = String::new();
    loop {
        match chars.next()? {
            '}' => break,
            c => inside.push(c),
        }
    }
    let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if least.is_empty() || !number(least) || !number(most) {
        return None;
    }
    out.extend(["{", &inside, "}"]);
    Some(())
}

/// What follows `[`, to the closing bracket.
fn class(chars: &mut Rest<'_>, out: &mut String) -> Option<()> {
    out.push('[');
    if chars.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // `[]` takes nothing and `[^]` everything; the `regex` crates read the bracket as a member.
    if chars.peek() == Some(&']') {
        return None;
    }
    let atom = |chars: &mut Rest<'_>| match chars.next()? {
        // Inside a class it is the backspace.
        '\\' if chars.next_if_eq(&'b').is_some() => Some(Escape::Literal('\u{8}')),
        '\\' => escape(chars),
        c => Some(Escape::Literal(c)),
    };
    loop {
        if chars.next_if_eq(&']').is_some() {
            out.push(']');
            return Some(());
        }
        let first = atom(chars)?;
        let mut ahead = chars.clone();
        let ranges = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        match (first, ranges) {
            (Escape::Literal(low), true) => {
                chars.next();
                // A class at an end of a range is read in two ways.
                let Escape::Literal(high) = atom(chars)? else { return None };
                literal(out, low);
                out.push('-');
                literal(out, high);
            }
            (Escape::Literal(c), false) => literal(out, c),
            (Escape::Class(..), true) => return None,
            (Escape::Class(members, false), false) => out.push_str(members),
            (Escape::Class(members, true), false) => out.extend(["[^", members, "]"]),
        }
    }
}
