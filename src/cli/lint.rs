//! `lint`: judges one list by itself. For who has no baseline yet, or wants to know what no baseline shows.

use super::{
    Answer,
    context::{Context, block_on},
    exit,
    render::{Format, json, safe, text},
    side,
    source::{self, Chosen},
};
use crate::{
    app::{AppError, check},
    catalog::Policy,
    diff::Side,
    lint,
    snapshot::Evidence,
};

/// Find what is wrong with a tool list by itself. Exit 0 nothing that blocks, 1 something, 2 invalid, 3 could not run.
#[derive(clap::Args)]
#[command(override_usage = "toolpact lint FILE-or-REF\n       \
                            toolpact lint -- COMMAND [ARGS]…\n       \
                            toolpact lint --url URL [--header KEY=VALUE]…\n       \
                            toolpact lint --file FILE")]
#[command(group = clap::ArgGroup::new("list").args(["side", "url", "file", "command"]).required(true))]
pub(super) struct Args {
    /// A file, `-`, `server@latest`, `server@sha256:…`, `catalog@VERSION` or an environment.
    #[arg(value_name = "FILE-or-REF")]
    side: Option<String>,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    source: source::Args,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let (side, evidence) = listed(args, context)?;
    let linted = lint::side(&side);
    // As a gate without a catalog blocks.
    let policy = Policy::default();
    let blocked = linted.findings.iter().any(|found| policy.blocks_finding(&found.finding));
    let text = match args.format {
        Format::Text => {
            let mut out = String::new();
            text::deviations(&mut out, &evidence);
            if !out.is_empty() {
                out = format!("listing: `{}` left the protocol\n{out}\n", safe::word(&side.label));
            }
            out + &text::lint(&linted, text::Style::of_stdout())
        }
        Format::Json => json::document(&linted)?,
    };
    Ok(Answer { text, exit: if blocked { exit::BLOCKED } else { exit::PASSED } })
}

/// What is judged, and how its listing went.
fn listed(args: &Args, context: &Context) -> Result<(Side, Evidence), AppError> {
    if let Some(side) = &args.side {
        return Ok((side::read(side, context)?, Evidence::default()));
    }
    match args.source.required()? {
        Chosen::File(path) => Ok((side::file(&path)?, Evidence::default())),
        Chosen::Live(source) => block_on(check::list_side(&source::label(&source), &source))
            .map(|(side, evidence, _)| (side, evidence)),
    }
}
