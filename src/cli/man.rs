//! `man`: the manual, from the arguments themselves.

use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::Man;

use super::{Answer, Cli};
use crate::app::{AppError, Kind};

/// Print the manual page of toolpact, or of one of its commands, in the form that `man` reads.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The command.
    command: Option<String>,
    /// Write a page for every command into this folder.
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    let unwritable = |e: std::io::Error| {
        AppError::new(Kind::Unavailable, "unwritable-file", format!("the manual cannot be written: {e}"))
    };
    let mut cli = Cli::command();
    if let Some(folder) = &args.out {
        clap_mangen::generate_to(cli, folder)
            .map_err(|e| unwritable(e).help("see that the folder is there and can be written to"))?;
        return Ok(String::new().into());
    }
    // So that a command is called `toolpact gate`, and has the global options.
    cli.build();
    let command = match &args.command {
        None => cli,
        Some(name) => {
            let named = cli.find_subcommand(name).cloned();
            named.map(|command| command.name(format!("toolpact-{name}").leak() as &str)).ok_or_else(|| {
                AppError::new(Kind::NotFound, "unknown-command", format!("there is no command `{name}`"))
                    .help("`toolpact --help` lists them all")
            })?
        }
    };
    let mut out = Vec::new();
    Man::new(command).render(&mut out).map_err(unwritable)?;
    Ok(String::from_utf8_lossy(&out).into_owned().into())
}
