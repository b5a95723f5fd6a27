//! `self-test`: whether this binary works on this machine.

use std::fmt::Write;

use super::{Answer, context::block_on, exit, render::safe};
use crate::app::{AppError, Kind, self_test};

/// Try what toolpact is made of on this machine: digests, diffs, witnesses, a lockfile, a server over stdio, a database.
#[derive(clap::Args)]
pub(super) struct Args {}

pub(super) fn run(_: &Args) -> Result<Answer, AppError> {
    let program = std::env::current_exe().map_err(|e| {
        AppError::new(Kind::Unavailable, "no-program", format!("the path of this program is not known: {e}"))
    })?;
    let tried = block_on(async { Ok(self_test::run(&program).await) })?;
    let mut text = format!(
        "toolpact {} on {}-{}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    for (what, outcome) in &tried {
        match outcome {
            Ok(()) => _ = writeln!(text, "  ok      {what}"),
            Err(cause) => _ = writeln!(text, "  FAILED  {what}: {}", safe::line(cause, 400)),
        }
    }
    let failed = tried.iter().filter(|(_, outcome)| outcome.is_err()).count();
    _ = match failed {
        0 => writeln!(text, "self-test: passed"),
        n => writeln!(text, "self-test: {n} of {} failed", tried.len()),
    };
    Ok(Answer { text, exit: if failed == 0 { exit::PASSED } else { exit::COULD_NOT_RUN } })
}
