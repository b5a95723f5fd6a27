//! `servers`: the servers that are known here, where they are found, and how their last listing ended.

mod add;

use std::fmt::Write;

use chrono::{DateTime, Utc};
use clap::Subcommand;

use super::{
    Answer,
    context::{Access, Context},
    oauth,
    render::{Format, json, safe},
    source,
};
use crate::{
    app::{AppError, view},
    catalog::server::AuthContext,
    name::ServerName,
};

/// Show the servers, where they are found, and how their last listing ended; or register or remove one.
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
    Add(add::Args),
    /// Ask a server under this authorization context as well: with these headers or variables beside its own. Catalogs
    /// rely on the first context that is named; what one tool is must not depend on the context, and where it does, that
    /// is told as a split view.
    Context {
        /// The server.
        name: ServerName,
        /// What the context is called.
        context: String,
        /// A header that is sent under it: `Authorization='Bearer ${TOKEN}'`; repeat for more. A secret is a reference,
        /// never written out.
        #[arg(long = "header", value_name = "KEY=VALUE", value_parser = source::header)]
        headers: Vec<(String, String)>,
        /// A variable that its command gets under it; repeat for more.
        #[arg(long = "env", value_name = "KEY=VALUE", value_parser = source::header)]
        env: Vec<(String, String)>,
        #[command(flatten)]
        oauth: oauth::Args,
        /// Take the context away.
        #[arg(long, conflicts_with_all = ["headers", "env"])]
        remove: bool,
    },
    /// Forget where a server is found. What it listed stays.
    Remove {
        /// The server.
        name: ServerName,
    },
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    match &args.command {
        None => {}
        Some(Command::Add(args)) => return add::run(args, context),
        Some(Command::Remove { name }) => {
            let actor = context.actor()?;
            context.with_app(Access::Registered, async |app| app.remove_server(name, &actor).await)?;
            return Ok(format!("{name} is removed; what it listed stays\n").into());
        }
        Some(Command::Context { name, context: called, headers, env, oauth, remove }) => {
            let actor = context.actor()?;
            let map = |pairs: &[(String, String)]| {
                pairs.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect()
            };
            let (headers, env) = (map(headers), map(env));
            let wanted = AuthContext { name: called.clone(), headers, env, oauth: oauth.symbolic() };
            let contexts = context.with_app(Access::Registered, async |app| {
                app.set_context(name, wanted.clone(), *remove, &actor).await
            })?;
            let listed =
                if contexts.is_empty() { "as its source stands".to_owned() } else { contexts.join(", ") };
            return Ok(format!("{name} is asked under: {}\n", safe::word(&listed)).into());
        }
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
        if let Some(asked) = server.asked {
            _ = writeln!(out, "  polled last at {}", time(asked));
        }
        super::snapshot::alarms(&mut out, &server.split_views);
    }
    if servers.is_empty() {
        out.push_str(
            "no server yet; `toolpact import FILE` registers those of a host, `toolpact servers add` one\n",
        );
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
