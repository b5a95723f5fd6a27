//! `snapshot`: asks a server what it offers and keeps every byte of the answer.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    exit,
    render::{Format, json, safe, text},
    side,
    source::{self, Chosen},
    sweep,
};
use crate::{
    app::{AppError, check, view},
    name::ServerName,
    snapshot::Outcome,
};

/// Record a server's `tools/list`, verbatim: from where it is registered, a command, a URL or a saved answer.
#[derive(clap::Args)]
#[command(override_usage = "toolpact snapshot NAME\n       \
                            toolpact snapshot NAME -- COMMAND [ARGS]…\n       \
                            toolpact snapshot NAME --url URL [--header KEY=VALUE]… [--oauth-client-id ID …]\n       \
                            toolpact snapshot NAME --file FILE\n       \
                            toolpact snapshot --all [--jobs N]")]
pub(super) struct Args {
    /// What the server is called here.
    #[arg(required_unless_present = "all")]
    name: Option<ServerName>,
    /// Ask every registered server.
    #[arg(long, conflicts_with_all = ["name", "url", "file", "command"])]
    all: bool,
    /// How many servers are asked at once.
    #[arg(long, value_name = "N", requires = "all", default_value_t = 64, value_parser = jobs)]
    jobs: usize,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    source: source::Args,
}

/// Each is a process or a connection, with a list in memory.
fn jobs(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=512).contains(n))
        .ok_or_else(|| "expected a number from 1 to 512".to_owned())
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let Some(name) = &args.name else { return sweep::run(args.jobs, args.format, context) };
    let actor = context.actor()?;
    let recorded = match args.source.chosen()? {
        None => {
            context.with_app(Access::Registered, async |app| app.snapshot_registered(name, &actor).await)?
        }
        Some(Chosen::Live(source)) => {
            context.with_app(Access::Write, async |app| app.snapshot(name, &source, &actor).await)?
        }
        Some(Chosen::File(path)) => {
            let listing = side::listing(&path)?;
            context.with_app(Access::Write, async |app| app.record(name, listing.clone(), &actor).await)?
        }
    };
    let whole = recorded.contexts.iter().all(|(row, _)| row.outcome == Outcome::Ok);
    let ok = recorded.listing.outcome == Outcome::Ok;
    Ok(Answer {
        text: match args.format {
            Format::Json => json::document(&recorded)?,
            Format::Text if ok => written(&recorded),
            Format::Text => return Err(failed(recorded.listing)),
        },
        // What is known of a part is not known of the whole.
        exit: if ok && whole { exit::PASSED } else { exit::COULD_NOT_RUN },
    })
}

fn failed(row: view::ListingRow) -> AppError {
    let mut error = check::failed_listing(row.server.as_str(), row.outcome, row.evidence);
    let stands = "the failure is recorded; the last good snapshot stands";
    error.help = if error.help.is_empty() { stands.to_owned() } else { format!("{}; {stands}", error.help) };
    error
}

/// `prompts: 4, resources: 10 (changed: +1 -0 ~2)`, and what could not be read.
fn surfaces(out: &mut String, recorded: &view::Recorded) {
    let shown = recorded.listing.surfaces.iter().map(|surface| {
        let changed = recorded.surfaces.iter().find(|diff| diff.kind == surface.kind);
        let changed = changed.map_or_else(String::new, |diff| format!(" (changed: {})", diff.counts()));
        match surface.count {
            Some(count) => format!("{}: {count}{changed}", surface.kind),
            None => format!("{}: not listed ({})", surface.kind, surface.outcome),
        }
    });
    let line = shown.collect::<Vec<_>>().join(", ");
    if !line.is_empty() {
        _ = writeln!(out, "{line}");
    }
    for surface in recorded.listing.surfaces.iter().filter(|surface| surface.outcome != Outcome::Ok) {
        _ = writeln!(out, "note: {}: {}", surface.kind, safe::word(&surface.message));
    }
}

/// What another authorization context brought.
fn context(row: &view::ListingRow, drift: &view::Drift) -> String {
    let Some(digest) = &row.digest else {
        return format!("{}: {}", row.outcome, safe::word(&row.evidence.message));
    };
    format!("{} tools, {}, {}", row.tools.unwrap_or_default(), digest.short(), drift.told())
}

/// Tools that depend on who asks.
pub(super) fn alarms(out: &mut String, views: &[view::SplitView]) {
    for view in views {
        _ = writeln!(out, "ALARM: split view: {}", safe::word(&view.told()));
    }
}

pub(super) fn written(recorded: &view::Recorded) -> String {
    let row = &recorded.listing;
    let mut out = String::new();
    let digest = row.digest.as_ref().map_or("", |d| d.short());
    _ = write!(out, "{}@{digest}: {} tools", row.server, row.tools.unwrap_or_default());
    if let Some(version) = row.provenance.server_version().filter(|v| !v.is_empty()) {
        _ = write!(out, ", server version {}", safe::word(version));
    }
    if let Some(package) = &row.provenance.package {
        _ = write!(out, ", package {}", safe::word(&package.to_string()));
    }
    if let Some(revision) = &row.provenance.protocol_version {
        _ = write!(out, ", protocol {}", safe::word(revision));
    }
    out.push('\n');
    surfaces(&mut out, recorded);
    text::deviations(&mut out, &row.evidence);
    match &recorded.drift {
        view::Drift::First => out.push_str("first snapshot of this server\n"),
        view::Drift::Identical => out.push_str("identical to the snapshot before\n"),
        view::Drift::Drift(before) => {
            _ = writeln!(
                out,
                "drift: differs from the snapshot before; `toolpact diff {0}@{1} {0}@latest`",
                row.server,
                before.short()
            );
        }
        // Only of a listing that failed, which is an error and not written here.
        view::Drift::Unknown => {}
    }
    for (row, drift) in &recorded.contexts {
        _ = writeln!(out, "under {}: {}", safe::word(&row.provenance.auth_context), context(row, drift));
    }
    alarms(&mut out, &recorded.split_views);
    for draft in &recorded.drafts {
        _ = writeln!(
            out,
            "draft d-{0} of catalog {1}: {2}; `toolpact show {1} d-{0}`",
            draft.id, draft.catalog, draft.report.verdict
        );
    }
    for (catalog, why) in &recorded.skipped {
        _ = writeln!(out, "no draft of catalog {catalog}: {}", safe::word(why));
    }
    out
}
