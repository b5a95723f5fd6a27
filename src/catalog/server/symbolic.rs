//! A text with references to variables: `${VAR}`, `${VAR:-default}`; `$${` is a dollar sign and a brace.
//!
//! Nothing else means anything: no command, no arithmetic, no nesting, no word splitting.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that may hold references.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Symbolic(String);

/// A part of a [`Symbolic`] text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// As it stands.
    Literal(&'a str),
    /// A reference.
    Variable {
        /// The variable.
        name: &'a str,
        /// What it is where the variable is not set.
        default: Option<&'a str>,
    },
    /// `${…}` with something in it that is no variable, such as `${command:pick}`; without the braces.
    Unknown(&'a str),
}

/// A reference that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The variable is not set.
    #[error("the variable `{0}` is not set")]
    Unset(String),
    /// No variable at all.
    #[error("`${{{0}}}` is no variable")]
    Unknown(String),
}

impl Symbolic {
    /// The text as it stands, references and all.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A text that means exactly this, whatever stands in it.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self(text.replace("${", "$${"))
    }

    /// A reference to a variable.
    #[must_use]
    pub fn variable(name: &str) -> Self {
        Self(format!("${{{name}}}"))
    }

    /// Whether it refers to anything.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.pieces().all(|piece| matches!(piece, Piece::Literal(_)))
    }

    /// Its parts, in order.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            let (piece, after) = next(rest)?;
            rest = after;
            Some(piece)
        })
    }

    /// The text with every reference replaced by what `variable` says, or by its default. An empty value counts as set,
    /// except before a default, as in a shell.
    ///
    /// # Errors
    /// The first reference that says nothing.
    pub fn resolve(&self, mut variable: impl FnMut(&str) -> Option<String>) -> Result<String, Unresolved> {
        let mut out = String::with_capacity(self.0.len());
        for piece in self.pieces() {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Unknown(text) => return Err(Unresolved::Unknown(text.to_owned())),
                Piece::Variable { name, default } => match (variable(name), default) {
                    (Some(value), None) => out.push_str(&value),
                    (Some(value), Some(_)) if !value.is_empty() => out.push_str(&value),
                    (Some(_) | None, Some(default)) => out.push_str(default),
                    (None, None) => return Err(Unresolved::Unset(name.to_owned())),
                },
            }
        }
        Ok(out)
    }
}

impl From<&str> for Symbolic {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Symbolic {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Symbolic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Symbolic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first part of a text and the rest; nothing of an empty one.
fn next(text: &str) -> Option<(Piece<'_>, &str)> {
    if text.is_empty() {
        return None;
    }
    if let Some(rest) = text.strip_prefix("$${") {
        return Some((Piece::Literal(&text[1..3]), rest));
    }
    if let Some((inside, rest)) = text.strip_prefix("${").and_then(|rest| rest.split_once('}')) {
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let piece =
            if is_variable(name) { Piece::Variable { name, default } } else { Piece::Unknown(inside) };
        return Some((piece, rest));
    }
    // Up to the next dollar sign, which begins a reference, an escape, or means itself.
    let end = text.char_indices().skip(1).find(|(_, c)| *c == '$').map_or(text.len(), |(at, _)| at);
    Some((Piece::Literal(&text[..end]), &text[end..]))
}

/// A name that an environment can hold: letters, digits and underscores, no digit first.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::{Symbolic, Unresolved};

    fn resolved(text: &str) -> Result<String, Unresolved> {
        Symbolic::from(text).resolve(|name| match name {
            "HOME" => Some("/home/ann".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRAP" => Some("${HOME} $(id)".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn a_reference_is_replaced_and_nothing_else_means_anything() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${HOME}/data", "/home/ann/data"),
            ("a${HOME}b${HOME}", "a/home/annb/home/ann"),
            ("${NONE:-default}", "default"),
            ("${NONE:-}", ""),
            ("${EMPTY:-default}", "default"),
            ("${EMPTY}", ""),
            ("${HOME:-default}", "/home/ann"),
            ("${NONE:-http://host:80}", "http://host:80"),
            ("$${HOME}", "${HOME}"),
            ("$HOME $5 $", "$HOME $5 $"),
            ("${open", "${open"),
            ("$(id) `id` $((1+1))", "$(id) `id` $((1+1))"),
            ("${TRAP}", "${HOME} $(id)"), // what a variable says is never read again
            ("größe ${HOME}", "größe /home/ann"),
            ("é${HOME}", "é/home/ann"),
        ] {
            assert_eq!(resolved(text), Ok(expected.to_owned()), "{text}");
        }
        assert_eq!(resolved("${NONE}"), Err(Unresolved::Unset("NONE".to_owned())));
        assert_eq!(resolved("${command:pick}"), Err(Unresolved::Unknown("command:pick".to_owned())));
        assert_eq!(resolved("${}"), Err(Unresolved::Unknown(String::new())));
    }

    #[test]
    fn a_literal_comes_back_as_it_was() {
        for text in ["${HOME}", "$${HOME}", "a$b", "${", "$$", "$$$${x}${y"] {
            let literal = Symbolic::literal(text);
            assert_eq!(literal.resolve(|_| None), Ok(text.to_owned()), "{literal}");
        }
    }
}
