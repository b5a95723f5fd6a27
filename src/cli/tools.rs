//! `tools`: writes the tools of a snapshot, a version or an environment as a saved answer, for CI without the database;
//! or the names that hosts give to them.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
};
use crate::{
    app::AppError,
    catalog::alias::{AliasHost, ToolAliases},
    name::ServerName,
};

/// Write the tools of a snapshot, a catalog version or an environment as a saved answer that `gate` and `diff` read.
#[derive(clap::Args)]
pub(super) struct Args {
    /// `server@latest`, `server@sha256:…`, `catalog@VERSION`, or an environment.
    #[arg(value_name = "REF")]
    reference: String,
    /// Which of its servers; needed where it holds several, except for `--aliases`.
    #[arg(long, value_name = "NAME")]
    server: Option<ServerName>,
    /// Write the names under which hosts show the tools to a model, and which of them clash or are too long.
    #[arg(long)]
    aliases: bool,
    /// How the aliases are written.
    #[arg(long, value_enum, default_value_t, requires = "aliases")]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let server = args.server.as_ref();
    if args.aliases {
        let aliases =
            context.with_app(Access::Read, async |app| app.aliases(&args.reference, server).await)?;
        return Ok(Answer::from(match args.format {
            Format::Json => json::document(&aliases)?,
            Format::Text => written(&aliases),
        }));
    }
    let text = context.with_app(Access::Read, async |app| app.saved_answer(&args.reference, server).await)?;
    Ok(text.into())
}

fn written(all: &[ToolAliases]) -> String {
    let mut out = String::new();
    for tool in all {
        _ = writeln!(out, "{}: {}", safe::word(&tool.server), safe::word(&tool.tool));
        for host in AliasHost::ALL {
            let name = tool.names.get(&host).map(|name| safe::word(name)).unwrap_or_default();
            _ = writeln!(out, "  {:<12} {name}", host.as_str());
        }
    }
    let mut warnings = 0;
    for tool in all {
        for warning in &tool.warnings {
            warnings += 1;
            let (name, server) = (safe::word(&tool.tool), safe::word(&tool.server));
            let (host, message) = (warning.host.as_str(), safe::line(&warning.message, 400));
            _ = writeln!(out, "warning: tool `{name}` on server `{server}`: {host} {message}");
        }
    }
    _ = writeln!(out, "{} tools, {warnings} warnings", all.len());
    out
}
