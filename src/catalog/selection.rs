//! Which of a server's tools a catalog holds: all, those that match a glob, or a list.

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

/// Patterns beyond this are refused: a selection is read by people.
pub const MAX_PATTERNS: usize = 1_000;

/// Globs over tool names (`search_*`, `get_?`, `{list,get}_*`); one that begins with `!` leaves out. Without any that
/// takes in, all are taken in. Matching looks at case, as tool names do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Selection(Vec<String>);

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is no pattern of tool names: {cause}")]
pub struct InvalidPattern {
    /// The pattern.
    pub pattern: String,
    /// Why not.
    pub cause: String,
}

impl TryFrom<Vec<String>> for Selection {
    type Error = InvalidPattern;
    fn try_from(patterns: Vec<String>) -> Result<Self, InvalidPattern> {
        if let Some(pattern) = patterns.get(MAX_PATTERNS) {
            let cause = format!("there are {} patterns, the limit is {MAX_PATTERNS}", patterns.len());
            return Err(InvalidPattern { pattern: pattern.clone(), cause });
        }
        for pattern in &patterns {
            glob(bare(pattern))?;
        }
        Ok(Self(patterns))
    }
}

impl From<Selection> for Vec<String> {
    fn from(selection: Selection) -> Self {
        selection.0
    }
}

impl Selection {
    /// The patterns, as written.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.0
    }

    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// The test for many names.
    #[must_use]
    pub fn matcher(&self) -> Matcher {
        let of = |out: bool| {
            let chosen = self.0.iter().filter(move |p| p.starts_with('!') == out);
            chosen.filter_map(|p| glob(bare(p)).ok()).collect()
        };
        Matcher { takes_in: of(false), leaves_out: of(true) }
    }
}

/// A selection, ready to be asked.
#[derive(Debug)]
pub struct Matcher {
    takes_in: Vec<GlobMatcher>,
    leaves_out: Vec<GlobMatcher>,
}

impl Matcher {
    /// Whether a tool belongs to it.
    #[must_use]
    pub fn holds(&self, tool: &str) -> bool {
        let any = |globs: &[GlobMatcher]| globs.iter().any(|g| g.is_match(tool));
        (self.takes_in.is_empty() || any(&self.takes_in)) && !any(&self.leaves_out)
    }
}

fn bare(pattern: &str) -> &str {
    pattern.strip_prefix('!').unwrap_or(pattern)
}

/// A tool's name is no path: `*` passes a slash.
fn glob(pattern: &str) -> Result<GlobMatcher, InvalidPattern> {
    let invalid = |cause: String| InvalidPattern { pattern: pattern.to_owned(), cause };
    if pattern.is_empty() {
        return Err(invalid("it is empty".to_owned()));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(false).backslash_escape(true).build();
    glob.map(|g| g.compile_matcher()).map_err(|e| invalid(e.kind().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &[&str], held: &[&str], not_held: &[&str]) {
        let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
        let selection = Selection::try_from(patterns).unwrap_or_else(|e| panic!("{e}"));
        let matcher = selection.matcher();
        for tool in held {
            assert!(matcher.holds(tool), "{selection:?} holds {tool}");
        }
        for tool in not_held {
            assert!(!matcher.holds(tool), "{selection:?} does not hold {tool}");
        }
    }

    #[test]
    fn a_selection_takes_in_by_globs_and_leaves_out_by_an_exclamation_mark() {
        check(&[], &["a", "", "x/y"], &[]);
        check(
            &["search_*", "get_issue"],
            &["search_", "search_a/b", "get_issue"],
            &["get_issues", "Search_a"],
        );
        check(&["!delete_*"], &["get", "undelete_x"], &["delete_", "delete_all"]);
        check(&["*", "!*_admin", "!x?"], &["a", "x", "xyz"], &["b_admin", "xy"]);
        check(&["{list,get}_*"], &["list_a", "get_b"], &["put_a"]);
        check(&[r"a\*"], &["a*"], &["ab"]);
    }

    #[test]
    fn what_is_no_glob_is_refused_by_name() {
        for (pattern, cause) in [("", "empty"), ("!", "empty"), ("[a", "unclosed"), ("{a", "unclosed")] {
            let error = Selection::try_from(vec![pattern.to_owned()]).expect_err("no glob");
            assert!(error.to_string().contains(cause), "{error}");
        }
    }
}
