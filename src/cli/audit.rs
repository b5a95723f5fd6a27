//! `audit verify`: recomputes the chain of events.

use super::{
    Answer,
    context::{Access, Context},
    exit,
};
use crate::app::AppError;

/// Check the audit log.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Recompute the chain of events; exit 1 where an event does not fit.
    Verify,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let Command::Verify = args.command;
    let check = context.with_app(Access::Read, async |app| app.verify_events().await)?;
    Ok(match check.broken {
        None => Answer::from(format!("{} events, the chain holds\n", check.events)),
        Some((seq, cause)) => Answer {
            text: format!(
                "event {seq} does not fit the chain: {cause}\nnothing from event {seq} on can be trusted\n"
            ),
            exit: exit::BLOCKED,
        },
    })
}
