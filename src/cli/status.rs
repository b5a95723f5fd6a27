//! `status`: what is live, what waits, and how the servers are.

use std::fmt::Write;

use serde::Serialize;

use super::{
    Answer,
    context::{Access, Context},
    render::{Format, json, safe},
    servers,
};
use crate::{
    app::{AppError, view},
    catalog::review::Decision,
};

/// Show what is live, which drafts wait, and how the last listing of every server ended.
#[derive(clap::Args)]
pub(super) struct Args {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Status {
    environments: Vec<view::EnvironmentPage>,
    catalogs: Vec<view::CatalogSummary>,
    /// Those that end first before the others.
    waivers: Vec<Decision>,
    servers: Vec<view::ServerSummary>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let status = context.with_app(Access::Read, async |app| {
        Ok(Status {
            environments: app.environments().await?,
            catalogs: app.catalogs().await?,
            waivers: app.waivers().await?,
            servers: app.servers().await?,
        })
    })?;
    Ok(Answer::from(match args.format {
        Format::Json => json::document(&status)?,
        Format::Text => written(&status),
    }))
}

fn written(status: &Status) -> String {
    let mut out = String::new();
    out.push_str("environments\n");
    for page in &status.environments {
        let p = &page.pointer;
        let mut hold = p.hold.map(|v| format!(", {v} held")).unwrap_or_default();
        if let Some(freeze) = page.freezes.first() {
            _ = write!(hold, ", frozen by {}", safe::word(&freeze.actor));
        }
        _ = writeln!(
            out,
            "  {:<14} {:<20} {:<14} generation {}, by {} at {}{hold}",
            p.environment.as_str(),
            p.catalog.as_str(),
            p.version.to_string(),
            p.generation,
            safe::word(&p.moved_by),
            servers::time(p.moved_at),
        );
    }
    none_where(status.environments.is_empty(), &mut out);

    out.push_str("drafts waiting\n");
    let waiting: Vec<_> =
        status.catalogs.iter().flat_map(|c| c.pending.iter().map(move |d| (&c.catalog.name, d))).collect();
    for (catalog, (id, verdict)) in &waiting {
        let number = format!("d-{id}");
        _ = writeln!(
            out,
            "  {number:<14} {:<20} {:<14} `toolpact show {catalog} {number}`",
            catalog.as_str(),
            verdict.as_str()
        );
    }
    none_where(waiting.is_empty(), &mut out);

    if !status.waivers.is_empty() {
        out.push_str("waivers\n");
    }
    for waiver in &status.waivers {
        let end = waiver.expires.map(servers::time).unwrap_or_default();
        let owner = safe::word(waiver.owner.as_ref().unwrap_or(&waiver.actor));
        let change = safe::line(&waiver.change, 120);
        _ = writeln!(
            out,
            "  {:<14} {:<20} until {end}, {owner}: {change}",
            waiver.fingerprint.short(),
            waiver.catalog.as_str()
        );
    }

    out.push_str("servers\n");
    for server in &status.servers {
        _ = writeln!(out, "  {}", servers::line(server));
        super::snapshot::alarms(&mut out, &server.split_views);
    }
    none_where(status.servers.is_empty(), &mut out);
    out
}

fn none_where(empty: bool, out: &mut String) {
    if empty {
        out.push_str("  none\n");
    }
}
