//! JSON as the rest of the crate needs it: canonical bytes (RFC 8785), digests, JSON Pointers (RFC 6901), and a
//! parser with limits for text that comes from outside.
//!
//! First in the flow; it knows nothing of tools or schemas.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod canonical;
mod digest;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use canonical::canonical;
pub use digest::{Digest, NotADigest, sha256};

/// Nesting beyond which text is refused before a [`Value`] is built. `serde_json` itself stops at 128; the deepest
/// real tool schema seen nests 31 levels, so 100 refuses only hostile or broken input.
pub const MAX_DEPTH: usize = 100;
/// Values beyond which text is refused before a [`Value`] is built: each takes some hundred bytes, so two bytes of text
/// (`0,`) would become a hundred. The largest real tool seen holds 3,151.
pub const MAX_VALUES: usize = 100_000;

/// Why a text was refused. The caller names the object that held it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Not JSON, with the parser's own position.
    #[error("not valid JSON: {0}")]
    Syntax(String),
    /// Nests deeper than [`MAX_DEPTH`].
    #[error("nests {found} levels deep, the limit is {MAX_DEPTH}")]
    TooDeep {
        /// The depth that was found.
        found: usize,
    },
    /// Holds more than [`MAX_VALUES`] values.
    #[error("holds {found} values, the limit is {MAX_VALUES}")]
    TooMany {
        /// How many were found.
        found: usize,
    },
}

/// Parses JSON from outside: bounded depth, bounded number of values, then `serde_json`.
///
/// # Errors
/// [`ParseError`] where the text is not JSON, nests too deep or holds too much.
pub fn parse(text: &str) -> Result<Value, ParseError> {
    let (found, values) = measure(text);
    if found > MAX_DEPTH {
        return Err(ParseError::TooDeep { found });
    }
    if values > MAX_VALUES {
        return Err(ParseError::TooMany { found: values });
    }
    serde_json::from_str(text).map_err(|e| ParseError::Syntax(e.to_string()))
}

/// Whether a JSON text nests too deep or holds too many values to be parsed.
#[must_use]
pub fn is_excessive(text: &str) -> bool {
    let (depth, values) = measure(text);
    depth > MAX_DEPTH || values > MAX_VALUES
}

/// The nesting depth of a JSON text and how many values it holds at most, without building anything. What stands inside
/// strings does not count.
fn measure(text: &str) -> (usize, usize) {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    // One before each comma and behind each bracket, and the last.
    let mut values = 1usize;
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    (deepest, values)
}

/// Whether a text that is known to be JSON is certain to be parsed by [`parse`]: it nests no deeper than [`MAX_DEPTH`],
/// holds no more than [`MAX_VALUES`], and has neither numbers that no double reaches nor escapes that may be no character.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    // The largest double has 309 digits.
    const DIGITS: usize = 300;
    let bytes = text.as_bytes();
    let (mut i, mut depth, mut digits, mut values) = (0, 0usize, 0, 1usize);
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                i += 1;
                while i < bytes.len() && bytes[i] != b'"' {
                    if bytes[i] == b'\\' {
                        i += 1;
                        // Half of a surrogate pair begins like a whole one.
                        if bytes.get(i) == Some(&b'u') && matches!(bytes.get(i + 1), Some(b'd' | b'D')) {
                            return false;
                        }
                    }
                    i += 1;
                }
                digits = 0;
            }
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                if depth > MAX_DEPTH || values > MAX_VALUES {
                    return false;
                }
                digits = 0;
            }
            b',' => {
                values += 1;
                if values > MAX_VALUES {
                    return false;
                }
                digits = 0;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                digits = 0;
            }
            b'0'..=b'9' => {
                digits += 1;
                if digits > DIGITS {
                    return false;
                }
            }
            b'e' | b'E' if digits > 0 => return false,
            _ => digits = 0,
        }
        i += 1;
    }
    true
}

/// Characters that do not show: controls, and those that are invisible or reorder their neighbours. Whoever reads a text that others wrote is shown their code.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' // soft hyphen
            | '\u{61c}' | '\u{200e}' | '\u{200f}' // marks of direction
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // bidi embeddings, overrides, isolates
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}' // zero width
            | '\u{2028}' | '\u{2029}' // line and paragraph separators
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // fillers that show nothing
            | '\u{fff9}'..='\u{fffb}' // interlinear annotation
            | '\u{e0000}'..='\u{e007f}') // tags: a hidden copy of ASCII
}

/// Whether two values are the same JSON value: numbers by value (`1` is `1.0`), objects without regard to order.
#[must_use]
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => number_equal(x, y),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| equal(v, w)))
        }
        _ => a == b,
    }
}

fn number_equal(x: &serde_json::Number, y: &serde_json::Number) -> bool {
    if let (Some(x), Some(y)) = (integer(x), integer(y)) {
        return x == y;
    }
    x.as_f64() == y.as_f64()
}

/// The number as an exact integer, where it is one (`1.0` included, as JSON Schema has it).
#[must_use]
pub fn integer(number: &serde_json::Number) -> Option<i128> {
    if let Some(n) = number.as_i64() {
        return Some(n.into());
    }
    if let Some(n) = number.as_u64() {
        return Some(n.into());
    }
    let f = number.as_f64()?;
    // Doubles of this size and below hold integers exactly.
    (f.fract() == 0.0 && f.abs() < 1e30).then_some(f as i128)
}

/// The number as a decimal, `mantissa / 10^scale`, read off its shortest spelling; nothing where it is very large or very
/// fine.
#[must_use]
pub fn decimal(number: &serde_json::Number) -> Option<(i128, u32)> {
    let text = number.to_string();
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text.as_str(), 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    if scale < 0 {
        let times = 10i128.checked_pow(scale.unsigned_abs())?;
        return Some((mantissa.checked_mul(times)?, 0));
    }
    Some((mantissa, scale.unsigned_abs()))
}

/// Whether the number is whole, however large (`1e300` is).
#[must_use]
pub fn is_whole(number: &serde_json::Number) -> bool {
    integer(number).is_some() || number.as_f64().is_some_and(|f| f.fract() == 0.0)
}

/// The numbers of a text that a double does not keep: integers outside 2^53, decimals of many digits. Digests of them
/// prove nothing (RFC 8785 writes doubles), so whoever compares two texts must compare these as well.
#[must_use]
pub fn inexact_numbers(text: &str) -> Vec<&str> {
    let (bytes, mut found) = (text.as_bytes(), Vec::new());
    let (mut i, mut in_string) = (0, false);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if in_string => i += 1,
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                let start = i;
                while i < bytes.len() && matches!(bytes[i], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
                    i += 1;
                }
                if !is_exact(&text[start..i]) {
                    found.push(&text[start..i]);
                }
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// Whether a number, as written, is the very same in a [`Value`], which keeps integers of 64 bits.
#[must_use]
pub fn is_kept(token: &str) -> bool {
    token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok() || is_exact(token)
}

/// Whether a double gives the number back when it is written again, as RFC 8785 writes it.
fn is_exact(token: &str) -> bool {
    if token.len() <= 15 && !token.contains(['e', 'E']) {
        return true;
    }
    token.parse::<f64>().is_ok_and(|f| f.is_finite() && significant(token) == significant(&format!("{f:e}")))
}

/// The digits of a number without leading and trailing zeros, and the power of ten of the first.
fn significant(token: &str) -> Option<(bool, String, i64)> {
    let (digits, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = format!("{whole}{fraction}").chars().filter(char::is_ascii_digit).collect();
    let zeros = all.len() - all.trim_start_matches('0').len();
    let kept = all.trim_matches('0').to_owned();
    if kept.is_empty() {
        return Some((false, kept, 0));
    }
    let before = whole.trim_start_matches('-').len();
    let power = exponent
        .parse::<i64>()
        .ok()?
        .checked_add(i64::try_from(before).ok()? - i64::try_from(zeros).ok()?)?;
    Some((token.starts_with('-'), kept, power))
}

/// A JSON Pointer, RFC 6901. The empty pointer is the whole document.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Pointer(String);

impl Pointer {
    /// The pointer to the whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// This pointer and one step more.
    #[must_use]
    pub fn join(&self, step: impl fmt::Display) -> Self {
        let mut text = format!("{}/{step}", self.0);
        let start = self.0.len() + 1;
        // Most steps are plain.
        if text[start..].contains(['~', '/']) {
            let step = text[start..].replace('~', "~0").replace('/', "~1");
            text.replace_range(start.., &step);
        }
        Self(text)
    }

    /// The text, as RFC 6901 writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The steps, unescaped.
    pub fn steps(&self) -> impl Iterator<Item = String> + '_ {
        self.0.split('/').skip(1).map(|s| s.replace("~1", "/").replace("~0", "~"))
    }
}

impl From<&str> for Pointer {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
