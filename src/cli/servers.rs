//! `servers`: the servers that are known here, where they are found, and how their last listing ended.

use std::fmt::Write;

use chrono::{DateTime, Utc};
use clap::Subcommand;

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    app::{AppError, view},
    name::ServerName,
};

/// Show the servers, where they are found, and how their last listing ended; or remove one.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Forget where a server is found. What it listed stays.
    Remove {
        /// The server.
        name: ServerName,
    },
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    if let Some(Command::Remove { name }) = &args.command {
        let actor = context.actor()?;
        context.with_app(Access::Registered, async |app| app.remove_server(name, &actor).await)?;
        return Ok(format!("{name} is removed; what it listed stays\n").into());
    }
    let servers = context.with_app(Access::Read, async |app| app.servers().await)?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&servers)?,
        Format::Text => written(&servers),
    }))
}

fn written(servers: &[view::ServerSummary]) -> String {
    let mut out = String::new();
    for server in servers {
        let source = server.source.as_deref().unwrap_or("not registered");
        _ = writeln!(out, "{}\n  {}", line(server), safe::line(source, 200));
    }
    if servers.is_empty() {
        out.push_str("no server yet; `toolpact import FILE` registers those of a host\n");
    }
    out
}

/// A server on a line: name, outcome, what its last good listing brought.
pub(super) fn line(server: &view::ServerSummary) -> String {
    let name = server.name.as_str();
    let Some(last) = &server.last else { return format!("{name:<14} never listed") };
    let good = match (&last.digest, &server.last_ok) {
        (Some(digest), _) => format!("{} tools, {}", last.tools.unwrap_or_default(), digest.short()),
        (None, Some(ok)) => format!("last good listing at {}", time(ok.at)),
        (None, None) => "never listed".to_owned(),
    };
    format!("{name:<14} {:<20} {good}, at {}", last.outcome.as_str(), time(last.at))
}

/// A time as lists show it.
pub(super) fn time(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%dT%H:%M:%SZ").to_string()
}
