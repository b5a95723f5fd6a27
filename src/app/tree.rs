//! The servers of a source tree: found in its files, asked, locked, and held against its lockfile. Without a database,
//! because CI has none.

mod ask;
mod find;
mod judge;
mod manifest;

use std::{
    fs,
    path::{Path, PathBuf},
};

use chrono::NaiveDate;
use serde::Serialize;

pub use ask::{Failed, Listed, ask, read};
pub use find::{Place, Target};
pub use judge::{Tried, against, tried};

use super::{AppError, Kind};
use crate::{
    catalog::{ServerSource, ServerSpec, server::Symbolic},
    config,
    gate::{
        Lock, LockError, LockedServer, Settings,
        lock::{self, Changes, Unlockable},
        settings,
    },
    mcp::Source,
    name::ServerName,
};

/// A folder with what it says of its servers.
#[derive(Debug)]
pub struct Tree {
    /// Where it is.
    folder: PathBuf,
    /// What its `toolpact.yaml` says.
    pub settings: Settings,
    /// The name of that file; nothing where there is none.
    pub file: Option<String>,
}

impl Tree {
    /// Reads the settings of a folder: the file that is named, or `toolpact.yaml` where there is one.
    ///
    /// # Errors
    /// Where the file that is named is not there, or what it says makes no sense; with the place.
    pub fn open(folder: &Path, named: Option<&str>) -> Result<Self, AppError> {
        let path = folder.join(named.unwrap_or(settings::FILE));
        let label = named.unwrap_or(settings::FILE);
        if named.is_none() && !path.exists() {
            return Ok(Self { folder: folder.to_owned(), settings: Settings::default(), file: None });
        }
        let text = text_of(&path, label)?;
        let settings = settings::read(&text).map_err(|e| {
            AppError::new(Kind::Invalid, "invalid-settings", format!("{label}:{e}"))
                .help("the README says what may stand there, under \"In CI\"")
        })?;
        Ok(Self { folder: folder.to_owned(), settings, file: Some(label.to_owned()) })
    }

    /// Where the lockfile is, as it was named on the command line, in the settings, or nowhere.
    #[must_use]
    pub fn lockfile<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        named.or(self.settings.lockfile.as_deref()).unwrap_or(lock::FILE)
    }

    /// The text of the lockfile; nothing where there is none.
    ///
    /// # Errors
    /// Where it is there and cannot be read.
    pub fn lock_text(&self, path: &str) -> Result<Option<String>, AppError> {
        let at = self.folder.join(path);
        if at.exists() { text_of(&at, path).map(Some) } else { Ok(None) }
    }

    /// What a saved answer lists. `label` names it to readers.
    ///
    /// # Errors
    /// What the text is instead.
    pub fn read_text(&self, target: Target, label: &str, text: &str) -> Result<Listed, AppError> {
        ask::of_text(self, target, label, text)
    }

    /// Writes the lockfile.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_lock(&self, path: &str, lock: &Lock) -> Result<(), AppError> {
        fs::write(self.folder.join(path), lock.write()).map_err(|e| {
            AppError::new(Kind::Unavailable, "unwritable-file", format!("`{path}` cannot be written: {e}"))
                .help("see that the folder is there and can be written to")
        })
    }
}

fn text_of(path: &Path, label: &str) -> Result<String, AppError> {
    fs::read_to_string(path).map_err(|e| {
        let cause = match e.kind() {
            std::io::ErrorKind::NotFound => "does not exist".to_owned(),
            std::io::ErrorKind::InvalidData => "is no UTF-8 text".to_owned(),
            _ => format!("cannot be read: {e}"),
        };
        AppError::new(Kind::Invalid, "unreadable-file", format!("`{label}` {cause}")).help("check the path")
    })
}

/// There is no lockfile.
#[must_use]
pub fn no_lock(path: &str) -> AppError {
    AppError::new(Kind::Invalid, "no-lockfile", format!("there is no lockfile `{path}` to compare with")).help(
        "write it with `toolpact lock -- COMMAND` and commit it, or name what callers rely on with `--baseline FILE-or-REF`",
    )
}

/// Reads a lockfile. `label` names it to readers.
///
/// # Errors
/// What is wrong with it, with the line and the next step.
pub fn read_lock(label: &str, text: &str) -> Result<Lock, AppError> {
    lock::read(text).map_err(|error| {
        let (code, help) = match &error {
            LockError::Conflict { .. } => (
                "lock-conflict",
                "take either side (`git checkout --theirs toolpact.lock`), then run `toolpact lock --update` and look at the difference",
            ),
            LockError::Newer { .. } => {
                ("lock-newer", "update toolpact here, or write the lockfile with the version that is used here")
            }
            LockError::Policy { .. } => ("lock-policy", "write it anew with `toolpact lock --update`"),
            LockError::Tampered { .. } | LockError::Twice { .. } => (
                "lock-tampered",
                "put it back as it was committed, or take what the servers list now with `toolpact lock --update`",
            ),
            LockError::Syntax { .. } => {
                ("lock-invalid", "put it back as it was committed, or write it anew with `toolpact lock`")
            }
        };
        AppError::new(Kind::Invalid, code, format!("{label}:{error}")).help(help)
    })
}

/// The same, to be written anew: what does not fit its digests, or was made under another policy, is read all the same,
/// for the days on which it was announced that something goes.
///
/// # Errors
/// What is wrong with it.
pub fn read_lock_to_update(label: &str, text: &str) -> Result<Lock, AppError> {
    match lock::read(text) {
        Err(LockError::Tampered { .. } | LockError::Policy { .. }) => {
            lock::read_unchecked(text).or_else(|_| read_lock(label, text))
        }
        _ => read_lock(label, text),
    }
}

/// What locking one server means.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Locked {
    /// The server.
    pub server: ServerName,
    /// How many tools it has.
    pub tools: usize,
    /// Whether it was not in the lockfile.
    pub new: bool,
    /// What changes in the lockfile.
    pub changes: Changes,
    /// What whoever locks it should know.
    pub notes: Vec<String>,
}

/// Puts what servers list into a lockfile; says what that changes.
///
/// # Errors
/// Where a list cannot be locked.
pub fn lock_into(lock: &mut Lock, listed: &[Listed], today: NaiveDate) -> Result<Vec<Locked>, AppError> {
    let mut all = Vec::new();
    for one in listed {
        let before = lock.server(&one.name).cloned();
        let mut server = LockedServer::of(one.name.clone(), &one.tools, before.as_ref(), today)
            .map_err(|e| unlockable(one, &e))?;
        server.version = one.declared.as_ref().map(|d| d.version.clone());
        let mut notes = Vec::new();
        server.source = match &one.target.place {
            Place::Given(source) => remembered(&one.name, source, &mut notes),
            // What another file says needs not stand here as well.
            Place::File(_) | Place::Configured(_) if one.target.is_configured() => None,
            Place::File(_) | Place::Configured(_) => before.as_ref().and_then(|b| b.source.clone()),
        };
        let changes = server.changes(before.as_ref());
        let tools = server.tools.len();
        all.push(Locked { server: one.name.clone(), tools, new: before.is_none(), changes, notes });
        lock.put(server);
    }
    Ok(all)
}

fn unlockable(listed: &Listed, error: &Unlockable) -> AppError {
    let name = &listed.name;
    let (code, help) = match error {
        Unlockable::Tool(_) => ("unreadable-tool", "no host can call such a tool; repair it in the server"),
        Unlockable::Twice(_) => (
            "duplicate-tool-name",
            "clients disagree on which of them counts; give every tool a name of its own",
        ),
    };
    // A file is the caller's; what a live server answers never is.
    let kind = if matches!(listed.target.place, Place::File(_)) { Kind::Invalid } else { Kind::Unavailable };
    AppError::new(kind, code, format!("server `{name}` cannot be locked: {error}")).help(help)
}

/// How a server is found again that was named on the command line: as it stood there, where no secret stands in it.
fn remembered(name: &ServerName, source: &Source, notes: &mut Vec<String>) -> Option<ServerSource> {
    let source = match source {
        Source::Stdio { program, args, env, cwd: None } if env.is_empty() => ServerSource::Stdio {
            program: Symbolic::literal(program),
            args: args.iter().map(|a| Symbolic::literal(a)).collect(),
            env: std::collections::BTreeMap::new(),
            cwd: None,
        },
        Source::Http { url, headers, oauth: None, .. } if headers.is_empty() => {
            ServerSource::url(Symbolic::literal(url).as_str())
        }
        Source::Stdio { .. } | Source::Http { .. } => {
            notes.push(
                "how it is found is not kept, for credentials belong to it; say it in `toolpact.yaml`, with references"
                    .to_owned(),
            );
            return None;
        }
    };
    if config::clear(&mut ServerSpec::new(name.clone(), source.clone())).is_empty() {
        return Some(source);
    }
    notes.push(
        "how it is found is not kept, for a secret stands in it; say it in `toolpact.yaml`, with references"
            .to_owned(),
    );
    None
}
