//! `diff`: what changed between two lists, and what it means. Shows, and decides nothing.

use clap::ValueEnum;

use super::{
    Answer, calls,
    context::{Access, Context},
    render::{Format, json, text},
    side::{self, Named},
};
use crate::{
    app::AppError,
    diff::{Assumption, Formats, Options, Report},
};

/// Show what changed between two tool lists, what it breaks, and the call that proves it.
#[derive(clap::Args)]
pub(super) struct Args {
    /// What callers rely on now: a file, `-`, `server@latest`, `server@sha256:…`, `catalog@VERSION` or an environment.
    baseline: String,
    /// What is proposed; the same forms.
    candidate: String,
    /// What callers are taken to send.
    #[arg(long, value_enum, default_value_t)]
    assume: Assume,
    /// What a `format` is taken for.
    #[arg(long, value_enum, default_value_t)]
    format_policy: FormatPolicy,
    /// How a witness is written.
    #[arg(long, value_enum, default_value_t)]
    witness: Shown,
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    calls: calls::Args,
}

/// An assumption as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Assume {
    /// Only properties that the baseline declares.
    #[default]
    Declared,
    /// Anything that the baseline allows.
    Strict,
}

/// What a `format` is taken for, as an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum FormatPolicy {
    /// It rejects values, as `pattern` does.
    Assert,
    /// It says something to readers only.
    Annotate,
    /// It may do either, so a change of it is a risk.
    #[default]
    Risky,
}

impl From<FormatPolicy> for Formats {
    fn from(policy: FormatPolicy) -> Self {
        match policy {
            FormatPolicy::Assert => Self::Assert,
            FormatPolicy::Annotate => Self::Annotate,
            FormatPolicy::Risky => Self::Risky,
        }
    }
}

/// The forms of a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Shown {
    /// The arguments of the call, or the result.
    #[default]
    Value,
    /// And the JSON-RPC message that carries them, to be sent as it stands.
    Jsonrpc,
}

impl Shown {
    pub(super) fn apply(self, report: Report) -> Report {
        match self {
            Self::Value => report,
            Self::Jsonrpc => report.with_messages(),
        }
    }
}

impl From<Assume> for Assumption {
    fn from(assume: Assume) -> Self {
        match assume {
            Assume::Declared => Self::Declared,
            Assume::Strict => Self::Strict,
        }
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    side::stdin_once(&[&args.baseline, &args.candidate, args.calls.file()])?;
    let (baseline, candidate) = side::both(&args.baseline, &args.candidate, context);
    let (baseline, candidate) = (baseline?, candidate?);
    let calls = args.calls.read()?;
    let offline = side::offline(&args.baseline) && side::offline(&args.candidate);
    let options = Options { assume: args.assume.into(), formats: args.format_policy.into() };
    let report = args.witness.apply(side::diffed(baseline, candidate, options, calls, offline)?);
    let surfaces = match (side::named(&args.baseline), side::named(&args.candidate)) {
        (Named::Reference(a), Named::Reference(b)) => {
            context.with_app(Access::Read, async |app| app.surfaces_between(a, b).await)?
        }
        // Saved answers hold tools only.
        (Named::File(_), _) | (_, Named::File(_)) => Vec::new(),
    };
    let answer = match args.format {
        Format::Text => {
            let mut out = text::report(&report, text::Style::of_stdout());
            text::surfaces(&mut out, &surfaces);
            out
        }
        Format::Json => json::diff(&report, &surfaces)?,
    };
    // The process ends here, so nothing has to be given back piece by piece.
    std::mem::forget(report);
    Ok(Answer::from(answer))
}
