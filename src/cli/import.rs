//! `import`: registers the servers that a host's configuration or a registry names.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context, block_on},
    exit,
    render::{Format, json, safe},
    side,
};
use crate::{
    app::{
        AppError, Kind,
        servers::{self, Change, Import},
    },
    config::{Found, Host, Options},
};

/// Register the servers that a configuration file names, or a registry.
///
/// Read are the files of Claude Desktop and Claude Code, VS Code, Cursor, Gemini CLI, Windsurf, ModelScope, AgentScope
/// and Spring AI, and `server.json`. References such as `${VAR}` are kept and resolved when a server is asked, from the
/// environment of toolpact. A secret that stands in clear is not stored: a reference takes its place, and the answer
/// says which variable to set.
#[derive(clap::Args)]
#[command(override_usage = "toolpact import FILE…\n       \
                            toolpact import --registry URL [--search TEXT] [NAME]…")]
pub(super) struct Args {
    /// The files; `-` for stdin. With `--registry`, the names of servers there; none is all of them.
    #[arg(value_name = "FILE", required_unless_present = "registry")]
    files: Vec<String>,
    /// Whose files they are, where that does not show.
    #[arg(long, value_name = "HOST", value_parser = host, conflicts_with = "registry")]
    host: Option<Host>,
    /// The base URL of a registry that speaks the MCP Registry's API.
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// Only the servers of the registry that this finds.
    #[arg(long, value_name = "TEXT", requires = "registry", conflicts_with = "files")]
    search: Option<String>,
    /// Of a `server.json` that has both, take the package that is run here, not the remote that is asked.
    #[arg(long)]
    package: bool,
    /// Take the servers too that the host has switched off.
    #[arg(long)]
    disabled: bool,
    /// Replace what is registered otherwise.
    #[arg(long)]
    replace: bool,
    /// Only say what would be registered.
    #[arg(long)]
    dry_run: bool,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let found = match &args.registry {
        Some(url) => {
            block_on(servers::read_registry(url, &args.files, args.search.as_deref(), args.package))?
        }
        None => read_files(args)?,
    };
    let work =
        async |app: &crate::app::App| app.import(found.clone(), args.replace, args.dry_run, &actor).await;
    let import = match args.dry_run {
        // Asking makes no database.
        true if context.database()?.is_absent() => block_on(async {
            let app = crate::app::App::in_memory(std::sync::Arc::new(crate::app::SystemClock)).await?;
            work(&app).await
        })?,
        true => context.with_app(Access::Read, work)?,
        false => context.with_app(Access::Write, work)?,
    };
    let blocked = import.changed().next().is_some() && !args.replace;
    Ok(Answer {
        text: match args.format {
            Format::Json => json::document(&import)?,
            Format::Text => written(&import, args),
        },
        exit: if blocked { exit::BLOCKED } else { exit::PASSED },
    })
}

fn read_files(args: &Args) -> Result<Found, AppError> {
    let options = Options { host: args.host, disabled: args.disabled, package: args.package };
    let mut all: Option<Found> = None;
    for file in &args.files {
        let found = servers::read(file, &side::text(file)?, options)?;
        let Some(all) = &mut all else {
            all = Some(found);
            continue;
        };
        for entry in found.servers {
            if all.servers.iter().any(|known| known.spec.name == entry.spec.name) {
                let message = format!("server `{}` stands in two of these files", entry.spec.name);
                let help = "import one file after the other; the second needs `--replace`";
                return Err(AppError::new(Kind::Invalid, "server-twice", message).help(help));
            }
            all.servers.push(entry);
        }
        all.skipped.extend(found.skipped);
    }
    all.ok_or_else(|| AppError::new(Kind::Invalid, "no-file", "no file is named"))
}

fn host(text: &str) -> Result<Host, String> {
    let words = Host::ALL.map(Host::as_str);
    Host::ALL
        .into_iter()
        .find(|host| host.as_str() == text)
        .ok_or_else(|| format!("expected one of {}", words.join(", ")))
}

fn written(import: &Import, args: &Args) -> String {
    let mut out = String::new();
    for server in &import.servers {
        let what = match &server.change {
            Change::New => "new",
            Change::Unchanged => "unchanged",
            Change::Changed(_) => "changed",
        };
        _ = writeln!(out, "{what:<10} {:<20} {}", server.server.as_str(), safe::word(&server.source));
        if let Change::Changed(lines) = &server.change {
            lines.iter().for_each(|line| _ = writeln!(out, "  {}", safe::word(line)));
        }
        for note in &server.notes {
            _ = writeln!(out, "  note: {}", safe::line(note, 300));
        }
        if !server.variables.is_empty() && server.change != Change::Unchanged {
            _ = writeln!(out, "  reads {}", server.variables.join(", "));
        }
    }
    for (name, why) in &import.skipped {
        _ = writeln!(out, "{:<10} {:<20} {}", "skipped", safe::word(name), safe::line(why, 300));
    }
    let count = |wanted: fn(&Change) -> bool| import.servers.iter().filter(|s| wanted(&s.change)).count();
    let new = count(|c| matches!(c, Change::New));
    let changed = count(|c| matches!(c, Change::Changed(_)));
    let counts = format!("{new} new, {changed} changed, {} unchanged", import.servers.len() - new - changed);
    if args.dry_run {
        _ = writeln!(out, "would register: {counts}");
    } else if changed > 0 && !args.replace {
        _ = writeln!(out, "nothing is registered: {counts}; `--replace` takes what changed");
    } else if import.applied {
        _ = writeln!(out, "registered: {counts}; `toolpact snapshot --all` asks them");
    } else {
        _ = writeln!(out, "nothing to register: {counts}");
    }
    out
}
