//! `lock`: writes down what callers rely on, for `gate` to hold servers against.

use std::{fmt::Write, path::Path};

use super::{
    Answer, exit, gate,
    render::{Format, json, safe, text},
    source,
};
use crate::{
    app::{
        AppError, Clock, Kind, SystemClock,
        tree::{self, Failed, Listed, Locked, Target, Tree},
    },
    gate::{Lock, lock::Changes},
    name::ServerName,
};

/// Write what servers list into toolpact.lock, for `toolpact gate` to compare with. Commit the file.
///
/// A server that is in it with other tools is left as it is, and the exit code is 1, unless `--update` accepts what changed.
#[derive(clap::Args)]
#[command(override_usage = "toolpact lock [--update]\n       \
                            toolpact lock [--server NAME] [--update] -- COMMAND [ARGS]…\n       \
                            toolpact lock [--server NAME] [--update] --url URL [--header KEY=VALUE]…\n       \
                            toolpact lock [--server NAME] [--update] --file FILE")]
pub(super) struct Args {
    /// Accept what changed.
    #[arg(long)]
    update: bool,
    /// What the server is called in the lockfile; or, of several that are found, the only one that is locked. Default: as
    /// it calls itself.
    #[arg(long, value_name = "NAME")]
    server: Option<ServerName>,
    /// The lockfile. Default: what `toolpact.yaml` says, or toolpact.lock.
    #[arg(long, value_name = "FILE")]
    lockfile: Option<String>,
    /// The settings. Default: toolpact.yaml, where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    source: source::Args,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    let tree = Tree::open(Path::new("."), args.config.as_deref())?;
    let path = tree.lockfile(args.lockfile.as_deref()).to_owned();
    let before = match tree.lock_text(&path)? {
        None => Lock::default(),
        Some(text) if args.update => tree::read_lock_to_update(&path, &text)?,
        Some(text) => tree::read_lock(&path, &text)?,
    };
    let given = args.source.chosen()?;
    let everything = given.is_none() && args.server.is_none();
    let targets = match given {
        Some(chosen) => vec![Target::given(args.server.clone(), gate::place(chosen))],
        None => {
            let mut found = tree.servers(Some(&before))?;
            if let Some(name) = &args.server {
                found.retain(|t| t.name.as_ref() == Some(name));
            }
            found
        }
    };
    if targets.is_empty() {
        let name = args.server.as_ref().map_or(String::new(), |name| format!(" `{name}`"));
        return Err(AppError::new(
            Kind::NotFound,
            "unknown-server",
            format!("no server{name} is found here"),
        )
        .help("say how it is started (`-- COMMAND`), or where it is (`--url URL`, `--file FILE`)"));
    }
    let listed = all(gate::asked(&tree, targets)?)?;
    let mut lock = before.clone();
    let locked = tree::lock_into(&mut lock, &listed, SystemClock.now().date_naive())?;
    let mut gone = Vec::new();
    if everything {
        // What nothing names any more.
        let is_listed = |name: &ServerName| listed.iter().any(|l| l.name == *name);
        gone = lock.servers.iter().map(|s| s.name.clone()).filter(|name| !is_listed(name)).collect();
        lock.servers.retain(|s| is_listed(&s.name));
    }
    let differs = !gone.is_empty() || locked.iter().any(|l| !l.new && !l.changes.are_none());
    let refused = differs && !args.update;
    let changes = differs || locked.iter().any(|l| l.new);
    if !refused && (changes || args.update) {
        tree.write_lock(&path, &lock)?;
    }
    let text = match args.format {
        Format::Json => json::document(&serde_json::json!({
            "lockfile": path, "written": !refused && changes, "servers": locked, "removed": gone,
        }))?,
        Format::Text => told(&path, &locked, &gone, refused),
    };
    Ok(Answer { text, exit: if refused { exit::BLOCKED } else { exit::PASSED } })
}

/// What was listed, or the first failure with the names of all: half a lockfile would be a wrong one.
fn all(answers: Vec<Result<Listed, Failed>>) -> Result<Vec<Listed>, AppError> {
    let (mut listed, mut failed) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(one) => listed.push(one),
            Err(error) => failed.push(error),
        }
    }
    let others: Vec<String> =
        failed.iter().skip(1).flat_map(|f| &f.name).map(|name| format!("`{name}`")).collect();
    let Some(Failed { mut error, .. }) = failed.into_iter().next() else { return Ok(listed) };
    if !others.is_empty() {
        error.message = format!("{}; nor could {}", error.message, others.join(", "));
    }
    error.message.push_str("; nothing was locked");
    Err(*error)
}

fn told(path: &str, locked: &[Locked], gone: &[ServerName], refused: bool) -> String {
    let mut out = String::new();
    let path = safe::word(path);
    for Locked { server, tools, new, changes, notes } in locked {
        let tools = text::count(*tools, "tool");
        match (new, changes.are_none()) {
            (true, _) => _ = writeln!(out, "locked: {tools} of `{server}` in {path}"),
            (false, true) => _ = writeln!(out, "unchanged: {tools} of `{server}`"),
            (false, false) if refused => {
                _ = writeln!(out, "differs: `{server}` lists other tools than {path} has")
            }
            (false, false) => _ = writeln!(out, "updated: {tools} of `{server}` in {path}"),
        }
        if !new {
            names(&mut out, changes);
        }
        for note in notes {
            _ = writeln!(out, "  note: {note}");
        }
    }
    for server in gone {
        let what = if refused { "differs: nothing here names" } else { "removed:" };
        _ = writeln!(out, "{what} `{server}`");
    }
    if refused {
        _ = writeln!(
            out,
            "lock: {path} is as it was; `toolpact gate` says what the difference means, `toolpact lock --update` accepts it"
        );
    }
    out
}

/// Names told of one kind; the rest is counted.
const MAX_NAMES: usize = 20;

fn names(out: &mut String, changes: &Changes) {
    for (sign, names) in [("+", &changes.added), ("~", &changes.changed), ("-", &changes.removed)] {
        for name in names.iter().take(MAX_NAMES) {
            _ = writeln!(out, "  {sign} {}", safe::word(name));
        }
        if names.len() > MAX_NAMES {
            _ = writeln!(out, "  {sign} and {} more", names.len() - MAX_NAMES);
        }
    }
}
