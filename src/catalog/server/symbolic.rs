//! A text with references: `${VAR}`, `${VAR:-default}`, `${file:/path}`, `${command:program words}`; `$${` is a dollar
//! sign and a brace.
//!
//! Nothing else means anything: no `$(command)`, no arithmetic, no nesting. What a reference says is found out elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::secret;

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
    /// What stands in a file, at this path.
    File(&'a str),
    /// What a command prints; its words are split as a POSIX shell would split them.
    Command(&'a str),
    /// `${…}` with something in it that is none of these, such as `${input:token}`; without the braces.
    Unknown(&'a str),
}

/// What a reference refers to. Shown as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference<'a> {
    /// A variable.
    Variable(&'a str),
    /// A file.
    File(&'a str),
    /// A command.
    Command(&'a str),
}

impl Reference<'_> {
    /// Whether it takes more than a look into the environment to find out what it says. Only who may run commands here
    /// and read files may write such a reference.
    #[must_use]
    pub fn acts(self) -> bool {
        match self {
            Self::Variable(_) => false,
            Self::File(_) | Self::Command(_) => true,
        }
    }
}

impl fmt::Display for Reference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "${{{name}}}"),
            Self::File(path) => write!(f, "${{file:{path}}}"),
            Self::Command(line) => write!(f, "${{command:{line}}}"),
        }
    }
}

/// A reference that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The variable is not set.
    #[error("the variable `{0}` is not set")]
    Unset(String),
    /// No reference that is known here.
    #[error("`${{{0}}}` is no variable, file or command")]
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

    /// Whether a secret stands in it in clear, given what it is called. A default counts where it holds one by itself.
    #[must_use]
    pub fn is_in_clear(&self, name: &str) -> bool {
        secret::stands_under(name, &self.said(false)) || secret::holds(&self.said(true))
    }

    /// Itself with holes for its references, or with what they fall back to.
    fn said(&self, defaults: bool) -> String {
        let mut out = String::with_capacity(self.0.len());
        for piece in self.pieces() {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Variable { default: Some(default), .. } if defaults && !default.is_empty() => {
                    out.push_str(default);
                }
                Piece::Variable { .. } | Piece::File(_) | Piece::Command(_) | Piece::Unknown(_) => {
                    out.push(secret::HOLE);
                }
            }
        }
        out
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

    /// What it refers to, in order.
    pub fn references(&self) -> impl Iterator<Item = Reference<'_>> {
        self.pieces().filter_map(|piece| match piece {
            Piece::Variable { name, .. } => Some(Reference::Variable(name)),
            Piece::File(path) => Some(Reference::File(path)),
            Piece::Command(line) => Some(Reference::Command(line)),
            Piece::Literal(_) | Piece::Unknown(_) => None,
        })
    }

    /// The text with every reference replaced by what `value` says, or by its default. An empty value counts as set,
    /// except before a default, as in a shell.
    ///
    /// # Errors
    /// The first reference that says nothing.
    pub fn resolve(
        &self,
        mut value: impl FnMut(Reference<'_>) -> Option<String>,
    ) -> Result<String, Unresolved> {
        let mut out = String::with_capacity(self.0.len());
        for piece in self.pieces() {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Unknown(text) => return Err(Unresolved::Unknown(text.to_owned())),
                Piece::File(path) => match value(Reference::File(path)) {
                    Some(value) => out.push_str(&value),
                    None => return Err(Unresolved::Unknown(format!("file:{path}"))),
                },
                Piece::Command(line) => match value(Reference::Command(line)) {
                    Some(value) => out.push_str(&value),
                    None => return Err(Unresolved::Unknown(format!("command:{line}"))),
                },
                Piece::Variable { name, default } => match (value(Reference::Variable(name)), default) {
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
        return Some((reference(inside), rest));
    }
    // Up to the next dollar sign, which begins a reference, an escape, or means itself.
    let end = text.char_indices().skip(1).find(|(_, c)| *c == '$').map_or(text.len(), |(at, _)| at);
    Some((Piece::Literal(&text[..end]), &text[end..]))
}

/// What stands between the braces.
fn reference(inside: &str) -> Piece<'_> {
    match inside.split_once(':') {
        Some(("file", path)) if !path.trim().is_empty() => return Piece::File(path),
        Some(("command", line)) if !line.trim().is_empty() => return Piece::Command(line),
        Some(_) | None => {}
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if is_variable(name) { Piece::Variable { name, default } } else { Piece::Unknown(inside) }
}

/// A name that an environment can hold: letters, digits and underscores, no digit first.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::{Reference, Symbolic, Unresolved};

    fn resolved(text: &str) -> Result<String, Unresolved> {
        Symbolic::from(text).resolve(|reference| match reference {
            Reference::Variable("HOME") => Some("/home/ann".to_owned()),
            Reference::Variable("EMPTY") => Some(String::new()),
            Reference::Variable("TRAP") => Some("${HOME} $(id)".to_owned()),
            Reference::Variable(_) | Reference::File("/none") => None,
            Reference::File(path) => Some(format!("<{path}>")),
            Reference::Command(line) => Some(format!("[{line}]")),
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
            ("Bearer ${file:/run/a b:-c}", "Bearer </run/a b:-c>"),
            ("${command:op read 'op://v/${x'}", "[op read 'op://v/${x']"),
            ("$${command:id}${FILE:-file:/x}", "${command:id}file:/x"),
            ("${TRAP}${NONE:-${command:id}", "${HOME} $(id)${command:id"),
        ] {
            assert_eq!(resolved(text), Ok(expected.to_owned()), "{text}");
        }
        assert_eq!(resolved("${NONE}"), Err(Unresolved::Unset("NONE".to_owned())));
        for inside in ["", "input:token", "command:", "file: ", "file:/none", "Command:id", "1:-x"] {
            assert_eq!(resolved(&format!("${{{inside}}}")), Err(Unresolved::Unknown(inside.to_owned())));
        }
    }

    #[test]
    fn a_literal_comes_back_as_it_was() {
        for text in ["${HOME}", "$${HOME}", "a$b", "${", "$$", "$$$${x}${y"] {
            let literal = Symbolic::literal(text);
            assert_eq!(literal.resolve(|_| None), Ok(text.to_owned()), "{literal}");
        }
    }
}
