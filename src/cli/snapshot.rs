//! `snapshot`: asks a server what it offers and keeps every byte of the answer.

use std::fmt::Write;

use super::{
    Answer,
    context::{Access, Context},
    exit,
    render::{Format, json, safe, text},
    side,
    source::{self, Chosen},
};
use crate::{
    app::{AppError, Kind, view},
    name::ServerName,
    snapshot::{Evidence, Listing, Outcome, Provenance, read_saved},
};

/// Record a server's `tools/list`, verbatim: from a command, a URL or a saved answer.
#[derive(clap::Args)]
#[command(override_usage = "toolpact snapshot NAME -- COMMAND [ARGS]…\n       \
                            toolpact snapshot NAME --url URL [--header KEY=VALUE]…\n       \
                            toolpact snapshot NAME --file FILE")]
pub(super) struct Args {
    /// What the server is called here.
    name: ServerName,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    source: source::Args,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let actor = context.actor()?;
    let recorded = match args.source.chosen() {
        Chosen::Live(source) => {
            context.with_app(Access::Write, async |app| app.snapshot(&args.name, &source, &actor).await)?
        }
        Chosen::File(path) => {
            let listing = saved(&path)?;
            context
                .with_app(Access::Write, async |app| app.record(&args.name, listing.clone(), &actor).await)?
        }
    };
    let exit = if recorded.listing.outcome == Outcome::Ok { exit::PASSED } else { exit::COULD_NOT_RUN };
    let text = match args.format {
        Format::Text => written(&recorded),
        Format::Json => json::document(&recorded)?,
    };
    Ok(Answer { text, exit })
}

fn saved(path: &str) -> Result<Listing, AppError> {
    let text = side::text(path)?;
    let list = read_saved(&text)
        .map_err(|e| AppError::new(Kind::Invalid, "not-a-tools-list", format!("`{path}` {e}")))?;
    let mut provenance = Provenance::file(path);
    provenance.server_info = list.server_info;
    provenance.protocol_version = list.protocol_version;
    Ok(Listing {
        outcome: Outcome::Ok,
        evidence: Evidence { pages: 1, bytes: text.len(), ..Evidence::default() },
        provenance,
        tools: list.tools,
    })
}

fn written(recorded: &view::Recorded) -> String {
    let row = &recorded.listing;
    let mut out = String::new();
    match (&row.digest, row.tools) {
        (Some(digest), Some(tools)) => {
            let version =
                row.provenance.server_version().map(|v| format!(", server version {}", safe::word(v)));
            let revision = row.provenance.protocol_version.as_deref();
            let revision = revision.map(|r| format!(", protocol {}", safe::word(r)));
            _ = writeln!(
                out,
                "{}@{}: {tools} tools{}{}",
                row.server,
                digest.short(),
                version.unwrap_or_default(),
                revision.unwrap_or_default(),
            );
        }
        _ => {
            let message = safe::line(&row.evidence.message, 500);
            _ = writeln!(out, "{}: listing failed ({}): {message}", row.server, row.outcome);
        }
    }
    text::evidence(&mut out, &row.evidence);
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
        view::Drift::Unknown => {
            out.push_str("recorded as failed; the last good snapshot stands\n");
            if !row.evidence.help.is_empty() {
                _ = writeln!(out, "help: {}", safe::line(&row.evidence.help, 500));
            }
        }
    }
    for draft in &recorded.drafts {
        _ = writeln!(
            out,
            "draft d-{0} of catalog {1}: {2}; `toolpact show {1} d-{0}`",
            draft.id, draft.catalog, draft.report.verdict
        );
    }
    out
}
