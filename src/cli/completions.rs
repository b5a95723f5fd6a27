//! `completions`: what a shell needs to complete commands and arguments, from the arguments themselves.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Answer, Cli};

/// Print what a shell needs to complete the commands and arguments of toolpact.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: &Args) -> Answer {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolpact", &mut out);
    String::from_utf8_lossy(&out).into_owned().into()
}
