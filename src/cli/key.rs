//! `key`: keys that versions, moves and checkpoints are signed with, in files.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::Answer;
use crate::{
    app::{
        AppError, Kind,
        signing::{new_key, read_key},
    },
    catalog::sign::{InvalidKey, PublicKey, SigningKey},
};

/// The longest text of a key or an envelope.
const MOST_BYTES: u64 = 1 << 20;

/// Make and show the keys that versions, moves and checkpoints are signed with.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make a key, and print its public half.
    ///
    /// The file is for this user only. To change keys, make a new one, hand its public half to whoever verifies beside the
    /// old one, and then sign with it: what the old one signed stays good for whoever accepts it still.
    New {
        /// The file to write; it must not be there yet.
        file: PathBuf,
    },
    /// Print the public half of a key, for those who verify.
    Public {
        /// The file of the key.
        file: PathBuf,
    },
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    let key = match &args.command {
        Command::New { file } => {
            let key = new_key()?;
            write_new(file, key.to_pem().map_err(unshown)?.as_bytes(), true)?;
            key
        }
        Command::Public { file } => read_signing(file)?,
    };
    let public = key.public();
    // Readers of PEM pass over what stands before it.
    Ok(format!("key {}\n{}", public.id(), public.to_pem().map_err(unshown)?).into())
}

fn unshown(error: InvalidKey) -> AppError {
    AppError::new(Kind::Internal, "internal", format!("a key cannot be written: {error}"))
}

/// Reads a secret key.
pub(super) fn read_signing(path: &Path) -> Result<SigningKey, AppError> {
    let key = read_key(&path.display().to_string(), &read_text(path)?)?;
    if fs::metadata(path).is_ok_and(|file| file.mode() & 0o077 != 0) {
        tracing::warn!("others may read the signing key `{}`: `chmod 600` keeps it to you", path.display());
    }
    Ok(key)
}

/// Reads a public key.
pub(super) fn read_public(path: &Path) -> Result<PublicKey, AppError> {
    let text = read_text(path)?;
    // The line with the key's id, which `key public` prints before it.
    let pem = text.find("-----BEGIN").map_or(text.as_str(), |at| &text[at..]);
    read_key(&path.display().to_string(), pem)
}

/// A small text file.
pub(super) fn read_text(path: &Path) -> Result<String, AppError> {
    let read = || {
        let mut text = String::new();
        let length =
            io::Read::read_to_string(&mut io::Read::take(File::open(path)?, MOST_BYTES + 1), &mut text)?;
        if length as u64 > MOST_BYTES { Err(io::Error::other("it is too long")) } else { Ok(text) }
    };
    read().map_err(|e| {
        AppError::new(Kind::Invalid, "unreadable-file", format!("`{}` cannot be read: {e}", path.display()))
    })
}

/// Writes a file that must not be there yet, where `secret` for this user only.
pub(super) fn write_new(path: &Path, bytes: &[u8], secret: bool) -> Result<(), AppError> {
    let mode = if secret { 0o600 } else { 0o666 };
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|e| unwritten(path, &e))
}

pub(super) fn unwritten(path: &Path, error: &io::Error) -> AppError {
    let (kind, help) = match error.kind() {
        io::ErrorKind::AlreadyExists => (Kind::Invalid, "name a file that is not there yet"),
        _ => (Kind::Unavailable, "name a file in a folder that can be written to"),
    };
    AppError::new(kind, "unwritable-file", format!("`{}` cannot be written: {error}", path.display()))
        .help(help)
}
