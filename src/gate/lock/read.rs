//! A lockfile, read: what it says, or the line on which it does not say it.

use std::{collections::BTreeMap, iter::Peekable, str::Lines};

use chrono::NaiveDate;
use serde_json::value::RawValue;

use super::{FORMAT, Lock, LockedServer, LockedTool};
use crate::{
    contract::{self, Contract, Digests},
    json::Digest,
    name::ServerName,
    snapshot::{MAX_FILE_BYTES, RawTool},
};

/// What is wrong with a lockfile. Shown as `7: …`, the line first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Git left its marks.
    #[error("{line}: it holds the marks of a merge conflict")]
    Conflict {
        /// From 1.
        line: usize,
    },
    /// Another toolpact wrote it.
    #[error("{line}: it has format {found}, and this toolpact reads format {FORMAT}")]
    Newer {
        /// From 1.
        line: usize,
        /// What it has.
        found: u32,
    },
    /// Its digests were made in another way.
    #[error(
        "{line}: its digests were made under policy `{found}`, this toolpact makes them under `{}`",
        contract::POLICY
    )]
    Policy {
        /// From 1.
        line: usize,
        /// What it has.
        found: String,
    },
    /// What a tool is does not fit its digest.
    #[error(
        "{line}: tool `{tool}` of server `{server}` is not what its digest `{digest}` says; it was changed by hand, or merged in part"
    )]
    Tampered {
        /// From 1.
        line: usize,
        /// The server.
        server: ServerName,
        /// The tool.
        tool: String,
        /// Which of the digests.
        digest: &'static str,
    },
    /// Two blocks are of one thing.
    #[error("{line}: {what} stands here twice")]
    Twice {
        /// From 1.
        line: usize,
        /// Which.
        what: String,
    },
    /// Anything else.
    #[error("{line}: {message}")]
    Syntax {
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// Whether a text is meant as a lockfile: it begins with the version of the form, comments aside.
#[must_use]
pub fn is_one(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#'));
    first.is_some_and(|l| l.starts_with("format ") || MARKS.iter().any(|m| l.starts_with(m)))
}

/// Reads a lockfile.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read(text: &str) -> Result<Lock, LockError> {
    read_as(text, true)
}

/// The same, whatever its digests say: for who writes it anew.
///
/// # Errors
/// The first thing that cannot be read.
pub fn read_unchecked(text: &str) -> Result<Lock, LockError> {
    read_as(text, false)
}

fn read_as(text: &str, checked: bool) -> Result<Lock, LockError> {
    if text.len() > MAX_FILE_BYTES {
        let message = format!("it has {} bytes, the limit is {MAX_FILE_BYTES}", text.len());
        return Err(LockError::Syntax { line: 1, message });
    }
    // Before anything else: half of a conflict may read well.
    if let Some(line) = text.lines().position(|l| MARKS.iter().any(|mark| l.starts_with(mark))) {
        return Err(LockError::Conflict { line: line + 1 });
    }
    let mut reader = Reader { lines: text.lines().peekable(), line: 0, checked };
    reader.head()?;
    let mut lock = Lock::default();
    while let Some((word, rest)) = reader.entry()? {
        let line = reader.line;
        match (word, lock.servers.last_mut()) {
            ("server", _) => {
                let server = reader.server(rest)?;
                if lock.server(&server.name).is_some() {
                    return Err(LockError::Twice { line, what: format!("server `{}`", server.name) });
                }
                lock.servers.push(server);
            }
            ("tool", Some(server)) => {
                let tool = reader.tool(rest, &server.name)?;
                if server.tools.iter().any(|t| t.contract.name == tool.contract.name) {
                    let what = format!("tool `{}` of server `{}`", tool.contract.name, server.name);
                    return Err(LockError::Twice { line, what });
                }
                server.tools.push(tool);
            }
            ("tool", None) => return Err(reader.fault("a tool stands here before any server")),
            _ => return Err(reader.fault(format!("`{word}` begins no block; expected `server` or `tool`"))),
        }
    }
    lock.servers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(lock)
}

const MARKS: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];

struct Reader<'a> {
    lines: Peekable<Lines<'a>>,
    /// The line that was read last, from 1.
    line: usize,
    /// Whether digests have to fit.
    checked: bool,
}

impl<'a> Reader<'a> {
    fn fault(&self, message: impl Into<String>) -> LockError {
        LockError::Syntax { line: self.line.max(1), message: message.into() }
    }

    fn next(&mut self) -> Option<&'a str> {
        let line = self.lines.next()?;
        self.line += 1;
        Some(line)
    }

    /// The next line with something on it, as a word and what follows.
    fn entry(&mut self) -> Result<Option<(&'a str, &'a str)>, LockError> {
        while let Some(line) = self.next() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            return match line.split_once(' ') {
                Some((word, rest)) => Ok(Some((word, rest.trim_end()))),
                None => Err(self.fault("expected a word and what it says")),
            };
        }
        Ok(None)
    }

    /// The next line of this block, where it begins with a lower-case word.
    fn member(&mut self) -> Option<(&'a str, &'a str)> {
        let line = *self.lines.peek()?;
        let begins = line.starts_with(|c: char| c.is_ascii_lowercase());
        let (word, rest) = begins.then(|| line.split_once(' ')).flatten()?;
        self.next();
        Some((word, rest.trim_end()))
    }

    fn head(&mut self) -> Result<(), LockError> {
        let Ok(Some(("format", format))) = self.entry() else {
            return Err(self.fault(format!("it is no lockfile: it does not begin with `format {FORMAT}`")));
        };
        match format.parse::<u32>() {
            Ok(FORMAT) => {}
            Ok(found) if found > FORMAT => return Err(LockError::Newer { line: self.line, found }),
            _ => return Err(self.fault(format!("`{format}` is no format that there ever was"))),
        }
        match self.member() {
            Some(("digests", contract::POLICY)) => Ok(()),
            Some(("digests", _)) if !self.checked => Ok(()),
            Some(("digests", found)) => Err(LockError::Policy { line: self.line, found: found.to_owned() }),
            _ => Err(self.fault(format!("after `format` stands `digests {}`", contract::POLICY))),
        }
    }

    fn text(&self, json: &str) -> Result<String, LockError> {
        serde_json::from_str(json).map_err(|_| self.fault("expected a text in double quotes"))
    }

    fn server(&mut self, name: &str) -> Result<LockedServer, LockError> {
        let line = self.line;
        let name = self.text(name)?.parse::<ServerName>().map_err(|e| self.fault(e.to_string()))?;
        let mut server = LockedServer { name, source: None, version: None, tools: Vec::new(), line };
        while let Some((word, rest)) = self.member() {
            match word {
                "source" => {
                    let source = serde_json::from_str(rest);
                    server.source = Some(source.map_err(|e| self.fault(format!("`source`: {e}")))?);
                }
                "version" => server.version = Some(self.text(rest)?),
                _ => return Err(self.fault(format!("`{word}` is nothing that a server has here"))),
            }
        }
        Ok(server)
    }

    fn tool(&mut self, name: &str, server: &ServerName) -> Result<LockedTool, LockError> {
        let line = self.line;
        let name = self.text(name)?;
        let mut digests: [(&'static str, Option<Digest>); 3] =
            [("raw", None), ("contract", None), ("presentation", None)];
        let mut announced = BTreeMap::new();
        while let Some((word, rest)) = self.member() {
            if word == "deprecated" {
                let (day, place) = rest.split_once(' ').unwrap_or((rest, "\"\""));
                let day: NaiveDate =
                    day.parse().map_err(|_| self.fault(format!("`{day}` is no day such as 2026-11-30")))?;
                announced.insert(self.text(place)?, day);
                continue;
            }
            let Some((_, digest)) = digests.iter_mut().find(|(known, _)| *known == word) else {
                return Err(self.fault(format!("`{word}` is nothing that a tool has here")));
            };
            *digest = Some(rest.parse().map_err(|_| self.fault(format!("`{word}` has no digest")))?);
        }
        let begins = self.line + 1;
        let contract = Contract::of(&self.body()?).map_err(|e| LockError::Syntax {
            line: begins,
            message: format!("tool {}: {}", e.tool, e.cause),
        })?;
        if contract.name != name {
            let message = format!("this is tool `{}`, and above it stands `{name}`", contract.name);
            return Err(LockError::Syntax { line: begins, message });
        }
        let Digests { raw, contract: rely, presentation } = contract.digests();
        for ((digest, said), found) in digests.iter().zip([raw, rely, presentation]) {
            match said {
                None => {
                    return Err(LockError::Syntax {
                        line,
                        message: format!("tool `{name}` has no `{digest}`"),
                    });
                }
                Some(said) if said != found && self.checked => {
                    return Err(LockError::Tampered { line, server: server.clone(), tool: name, digest });
                }
                Some(_) => {}
            }
        }
        Ok(LockedTool { digests: contract.digests().clone(), contract, announced, line })
    }

    /// The JSON of a tool: from the brace at the beginning of a line to the one that closes it there.
    fn body(&mut self) -> Result<RawTool, LockError> {
        let mut body = String::new();
        let begins = self.line + 1;
        if self.lines.peek() != Some(&"{") {
            self.next();
            return Err(self.fault("expected the tool as JSON, from a line with `{` to one with `}`"));
        }
        while let Some(line) = self.next() {
            body.push_str(line);
            if line == "}" {
                let raw = RawValue::from_string(body).map_err(|e| LockError::Syntax {
                    line: begins + e.line().saturating_sub(1),
                    message: format!("the tool is no JSON: {e}"),
                })?;
                return Ok(RawTool { index: 0, raw: raw.into() });
            }
            body.push('\n');
        }
        Err(self.fault("the file ends inside of a tool"))
    }
}
