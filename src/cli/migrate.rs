//! `migrate`: brings the tables of a database up to date. A file is brought up to date whenever it is opened; on a server
//! only this and `serve` do so.

use super::{
    Answer,
    context::{Context, block_on},
};
use crate::app::{App, AppError};

/// Bring the tables of the database up to date.
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args, context: &Context) -> Result<Answer, AppError> {
    let place = context.database()?;
    Ok(match block_on(App::migrate(&place))? {
        0 => format!("database `{place}` is up to date; nothing was to do\n"),
        1 => format!("database `{place}` is up to date; one migration ran\n"),
        n => format!("database `{place}` is up to date; {n} migrations ran\n"),
    }
    .into())
}
