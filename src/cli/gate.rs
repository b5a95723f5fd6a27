//! `gate`: passes or blocks a candidate. The one command that CI needs.

use clap::ValueEnum;

use super::{
    Answer, calls,
    context::{Access, Context, block_on},
    diff::{Assume, FormatPolicy, Shown},
    exit,
    render::{Format, json, safe, text},
    side::{self, Named},
    source::{self, Chosen},
};
use crate::{
    app::{AppError, check},
    catalog::Policy,
    diff::{Level, Side},
    name::ServerName,
    snapshot::Evidence,
};

/// Pass or block a server's tools against what callers rely on. Exit 0 passes, 1 blocked, 2 invalid, 3 could not run.
#[derive(clap::Args)]
#[command(override_usage = "toolpact gate --baseline FILE-or-REF [OPTIONS] -- COMMAND [ARGS]…\n       \
                            toolpact gate --baseline FILE-or-REF [OPTIONS] --url URL [--header KEY=VALUE]…\n       \
                            toolpact gate --baseline FILE-or-REF [OPTIONS] --file FILE")]
#[command(group = clap::ArgGroup::new("candidate").args(["url", "file", "command"]).required(true))]
pub(super) struct Args {
    /// What callers rely on: a file, an environment, `catalog@VERSION`, `server@latest` or `server@sha256:…`.
    #[arg(long, value_name = "FILE-or-REF")]
    baseline: String,
    /// Which of the baseline's servers the candidate is; needed where the baseline holds several.
    #[arg(long, value_name = "NAME")]
    server: Option<ServerName>,
    /// What callers are taken to send. Default: what the baseline's catalog says, otherwise `declared`.
    #[arg(long, value_enum)]
    assume: Option<Assume>,
    /// The levels that block, comma-separated. Default: what the baseline's catalog says, otherwise
    /// `breaking,undecided`. Absolute findings block whatever stands here.
    #[arg(long, value_enum, value_name = "LEVELS", value_delimiter = ',')]
    fail_on: Option<Vec<Blocking>>,
    /// What a `format` is taken for. Default: what the baseline's catalog says, otherwise `risky`.
    #[arg(long, value_enum)]
    format_policy: Option<FormatPolicy>,
    /// How a witness is written.
    #[arg(long, value_enum, default_value_t)]
    witness: Shown,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    calls: calls::Args,
    #[command(flatten)]
    source: source::Args,
}

/// A level that may block. `compatible` is none: it would block every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Blocking {
    /// A call or a result that was fine is not fine now.
    Breaking,
    /// Not proved either way.
    Undecided,
    /// Breaks no schema, may change what happens.
    Risky,
    /// Nothing but absolute findings.
    None,
}

impl Blocking {
    fn level(self) -> Option<Level> {
        match self {
            Self::Breaking => Some(Level::Breaking),
            Self::Undecided => Some(Level::Undecided),
            Self::Risky => Some(Level::Risky),
            Self::None => None,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let source = args.source.required()?;
    let file = match &source {
        Chosen::File(path) => path,
        Chosen::Live(_) => "",
    };
    side::stdin_once(&[&args.baseline, file, args.calls.file()])?;
    // What is at hand first: a mistake in it should not cost the start of a server.
    let calls = args.calls.read()?;
    let (baseline, mut policy) = baseline(args, context)?;
    let baseline = check::of_server(baseline, args.server.as_ref())?;
    if let Some(assume) = args.assume {
        policy.assume = assume.into();
    }
    if let Some(formats) = args.format_policy {
        policy.formats = formats.into();
    }
    if let Some(levels) = &args.fail_on {
        policy.fail_on = levels.iter().filter_map(|l| l.level()).collect();
    }
    let (mut candidate, evidence) = candidate(&source, args.server.as_ref())?;
    if let (Some(server), [(name @ None, _)]) = (&args.server, candidate.servers.as_mut_slice()) {
        *name = Some(server.clone());
    }
    let label = candidate.label.clone();
    let offline = side::offline(&args.baseline) && matches!(source, Chosen::File(_));
    let report = args.witness.apply(side::diffed(baseline, candidate, policy.options(), calls, offline)?);
    let gate = check::gate(report, &policy);
    let text = match args.format {
        Format::Text => {
            // First, so that the decision stays the last line.
            let mut out = String::new();
            text::deviations(&mut out, &evidence);
            if !out.is_empty() {
                out = format!("listing: `{}` left the protocol\n{out}\n", safe::word(&label));
            }
            out + &text::gate(&gate, &policy, text::Style::of_stdout())
        }
        Format::Json => json::gate(&gate, &policy)?,
    };
    Ok(Answer { text, exit: if gate.blocked.is_some() { exit::BLOCKED } else { exit::PASSED } })
}

fn baseline(args: &Args, context: &Context) -> Result<(Side, Policy), AppError> {
    let baseline = side::read(&args.baseline, context)?;
    let policy = match side::named(&args.baseline) {
        Named::File(_) => Policy::default(),
        Named::Reference(reference) => {
            context.with_app(Access::Read, async |app| app.policy_of(reference).await)?
        }
    };
    Ok((baseline, policy))
}

/// What is judged, and how its listing went.
fn candidate(source: &Chosen, server: Option<&ServerName>) -> Result<(Side, Evidence), AppError> {
    match source {
        Chosen::File(path) => Ok((side::file(path)?, Evidence::default())),
        Chosen::Live(source) => {
            let label = server.map_or_else(|| source::label(source), ToString::to_string);
            block_on(check::list_side(&label, source))
        }
    }
}
