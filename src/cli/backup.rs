//! `backup`: a copy of the database, taken while it is in use.

use std::{path::PathBuf, sync::Arc};

use super::{
    Answer,
    context::{Context, block_on},
    exit,
};
use crate::app::{App, AppError, SystemClock};

/// Copy the database into a new file, while it is in use, and check the copy.
///
/// The copy is a database like any other: `--database FILE` looks into it, and to go back it takes the place of the file
/// that was lost. A PostgreSQL database is copied by `pg_dump`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The file to write; it must not be there yet.
    file: PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let place = context.present()?;
    let backup = block_on(App::backup(&place, &args.file, Arc::new(SystemClock)))?;
    let file = args.file.display();
    Ok(match backup.broken {
        None => Answer::from(format!(
            "`{file}` holds the database as it was: {} events, the chain holds\n",
            backup.events
        )),
        Some((seq, why)) => Answer {
            text: format!(
                "`{file}` holds the database as it was, in which event {seq} does not fit the chain: {why}\n"
            ),
            exit: exit::BLOCKED,
        },
    })
}
