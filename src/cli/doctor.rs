//! `doctor`: looks the database over and says what is wrong with it.

use std::{fmt::Write, sync::Arc};

use super::{
    Answer,
    context::{Context, block_on},
    exit,
    render::{Format, json, safe},
};
use crate::app::{App, AppError, SystemClock};

/// Look the database over: exit 0 where all is well, 1 where something is not, 3 where it does not answer.
#[derive(clap::Args)]
pub(super) struct Args {
    /// How the answer is written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let place = context.present()?;
    let checks = block_on(App::doctor(&place, Arc::new(SystemClock)))?;
    let text = match args.format {
        Format::Json => json::document(&checks)?,
        Format::Text => {
            let mut out = String::new();
            for check in &checks {
                let word = if check.ok { "ok" } else { "WRONG" };
                _ = writeln!(out, "{word:<6} {:<11} {}", check.name, safe::word(&check.said));
                if !check.ok {
                    _ = writeln!(out, "       help: {}", check.help);
                }
            }
            out
        }
    };
    let well = checks.iter().all(|check| check.ok);
    Ok(Answer { text, exit: if well { exit::PASSED } else { exit::BLOCKED } })
}
