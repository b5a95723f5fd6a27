//! Recorded calls, as `diff` and `gate` take them.

use super::side;
use crate::{
    app::{AppError, view},
    diff::{Calls, calls::MAX_BYTES},
};

/// Where they are.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Recorded `tools/call` requests, or their params: one a line, or a JSON array; `-` for stdin. One that the
    /// candidate rejects is the witness as it stands, and other witnesses are built of what was recorded. Witnesses
    /// show arguments, secrets in them too; nothing of a call is stored.
    #[arg(long, value_name = "FILE")]
    pub(super) calls: Option<String>,
}

impl Args {
    /// The file, or nothing.
    pub(super) fn file(&self) -> &str {
        self.calls.as_deref().unwrap_or_default()
    }

    /// Reads them.
    ///
    /// # Errors
    /// Where the file cannot be read, a line of it is not JSON, or a limit is met.
    pub(super) fn read(&self) -> Result<Calls, AppError> {
        match &self.calls {
            Some(path) => {
                let text = side::text_up_to(path, MAX_BYTES, "recorded calls")?;
                view::recorded_calls(side::label(path), &text)
            }
            None => Ok(Calls::default()),
        }
    }
}
