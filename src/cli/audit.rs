//! `audit`: recomputes the chain of events, signs where it stands, and hands it on.

use std::{
    fs::File,
    io::{BufReader, Write as _},
    path::{Path, PathBuf},
};

use super::{
    Answer,
    context::{Access, Context},
    exit,
    key::{read_public, read_signing, read_text, unwritten, write_new},
};
use crate::{
    app::{
        AppError, Kind,
        audit::{checkpoints, verify_export},
        view::ChainCheck,
    },
    catalog::{chain::Checkpoint, sign::Envelope},
};

/// Check the audit log, sign where it stands, or write it out.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Recompute the chain of events; exit 1 where an event does not fit, naming the first.
    ///
    /// The chain shows every event that was changed, dropped, inserted or moved between others. That its end is gone, or
    /// that all of it was made anew, only a checkpoint shows that was signed before and kept elsewhere.
    Verify(Verify),
    /// Sign where the chain stands, to be kept where whoever writes to the database does not reach it.
    Checkpoint(TakeCheckpoint),
    /// Write events as lines of JSON, the first first. `audit verify --file` checks them on any machine.
    Export(Export),
}

#[derive(clap::Args)]
struct Verify {
    /// A checkpoint that the chain has to pass; repeat for more.
    #[arg(long, value_name = "FILE", requires = "keys")]
    checkpoint: Vec<PathBuf>,
    /// A public key that checkpoints may be signed with; repeat for more, as after a rotation.
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// Check an export instead of the database.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

#[derive(clap::Args)]
struct TakeCheckpoint {
    /// The secret key to sign with. Default: that of `--signing-key`.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Where to write it; stdout where none is given. It must not be there yet.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Export {
    /// The first event.
    #[arg(long, value_name = "SEQ", default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    from: i64,
    /// Where to write them; stdout where none is given. It must not be there yet.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    match &args.command {
        Command::Verify(args) => verify(args, context),
        Command::Checkpoint(args) => checkpoint(args, context),
        Command::Export(args) => export(args, context),
    }
}

fn verify(args: &Verify, context: &Context) -> Result<Answer, AppError> {
    let signed = signed_checkpoints(args)?;
    let check = match &args.file {
        None => context.with_app(Access::Read, async |app| app.verify_events_past(signed).await)?,
        Some(path) => {
            let label = path.display().to_string();
            let file = File::open(path).map_err(|e| {
                AppError::new(Kind::Invalid, "unreadable-file", format!("`{label}` cannot be read: {e}"))
            })?;
            verify_export(&label, BufReader::new(file), signed)?
        }
    };
    Ok(told(&check))
}

fn told(check: &ChainCheck) -> Answer {
    match (&check.broken, check.vouched) {
        (None, None) => Answer::from(format!("{} events, the chain holds\n", check.events)),
        (None, Some(seq)) => Answer::from(format!(
            "{} events, the chain holds; checkpoints passed: {}, the last at event {seq}\n",
            check.events, check.checkpoints
        )),
        (Some((seq, cause)), _) => Answer {
            text: format!(
                "event {seq} does not fit the chain: {cause}\nnothing from event {seq} on can be trusted\n"
            ),
            exit: exit::BLOCKED,
        },
    }
}

fn signed_checkpoints(args: &Verify) -> Result<Vec<Checkpoint>, AppError> {
    let keys = args.keys.iter().map(|path| read_public(path)).collect::<Result<Vec<_>, _>>()?;
    let envelopes = args.checkpoint.iter().map(|path| Ok((path.display().to_string(), envelope(path)?)));
    checkpoints(&envelopes.collect::<Result<Vec<_>, AppError>>()?, &keys)
}

/// A signed envelope in a file.
fn envelope(path: &Path) -> Result<Envelope, AppError> {
    serde_json::from_str(&read_text(path)?).map_err(|e| {
        let message = format!("`{}` is no signed envelope: {e}", path.display());
        AppError::new(Kind::Invalid, "invalid-envelope", message)
            .help("`toolpact audit checkpoint` writes one")
    })
}

fn checkpoint(args: &TakeCheckpoint, context: &Context) -> Result<Answer, AppError> {
    let key = match &args.key {
        Some(path) => read_signing(path)?,
        None => context.signing_key()?.ok_or_else(|| {
            AppError::new(Kind::Invalid, "no-signing-key", "a checkpoint is signed, and no key was named")
                .help("pass `--key FILE`; `toolpact key new FILE` makes one")
        })?,
    };
    let envelope = context.with_app(Access::Read, async |app| app.signed_checkpoint(&key).await)?;
    let text = super::render::json::document(&envelope)?;
    let Some(path) = &args.out else { return Ok(text.into()) };
    write_new(path, text.as_bytes(), false)?;
    let id = key.public().id();
    Ok(format!("`{}` vouches for the log as it is, signed with key {}\n", path.display(), id.short()).into())
}

fn export(args: &Export, context: &Context) -> Result<Answer, AppError> {
    let Some(path) = &args.out else {
        context.with_app(Access::Read, async |app| {
            let print = |line: &str| {
                super::print(&format!("{line}\n")).map_err(|e| unwritten(Path::new("stdout"), &e))
            };
            app.export_events(args.from, print).await
        })?;
        return Ok(String::new().into());
    };
    write_new(path, b"", false)?;
    let count = context.with_app(Access::Read, async |app| {
        let file = File::options().append(true).open(path).map_err(|e| unwritten(path, &e))?;
        let mut file = std::io::BufWriter::new(file);
        let write = |line: &str| writeln!(file, "{line}").map_err(|e| unwritten(path, &e));
        let count = app.export_events(args.from, write).await?;
        file.flush().map_err(|e| unwritten(path, &e))?;
        Ok(count)
    })?;
    Ok(format!("`{}` holds {count} events\n", path.display()).into())
}
