//! `verify-catalog`: holds a bundle against what was signed, with nothing but a public key.

use std::{fmt::Write as _, fs, path::PathBuf};

use super::{Answer, key::read_public, render::safe};
use crate::app::{AppError, Kind, signing::verify_bundle};

/// Check an exported bundle on any machine, without a database or a network.
///
/// Exit 1 where a part of it is not what was signed, naming the part.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The bundle, as `toolpact export --bundle` writes it.
    file: PathBuf,
    /// A public key that it may be signed with; repeat for more, as after a rotation.
    #[arg(long = "key", value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,
    /// Print the catalog document of the bundle, once it is proved.
    #[arg(long)]
    document: bool,
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    let keys = args.keys.iter().map(|path| read_public(path)).collect::<Result<Vec<_>, _>>()?;
    let label = args.file.display().to_string();
    let text = fs::read_to_string(&args.file).map_err(|e| {
        AppError::new(Kind::Invalid, "unreadable-file", format!("`{label}` cannot be read: {e}"))
    })?;
    let (bundle, proved) = verify_bundle(&label, &text, &keys)?;
    if args.document {
        return Ok(bundle.document.into());
    }
    let version = &bundle.version;
    let keys: Vec<&str> = proved.keys.iter().map(|id| id.short()).collect();
    let mut out = format!(
        "{}@{} is as it was signed with {}\ndigest {}, approved by {}\n",
        version.catalog,
        version.version,
        keys.join(", "),
        version.digest,
        safe::word(&version.approved_by),
    );
    let (held, missing) = proved.contracts;
    let rest =
        if missing > 0 { format!(", {missing} more are pinned and not in the file") } else { String::new() };
    _ = writeln!(out, "{held} contracts are those that it pins{rest}");
    for told in &proved.moves {
        _ = writeln!(out, "live: {}", safe::word(told));
    }
    _ = match &proved.checkpoint {
        Some(c) => writeln!(out, "{} events lead to the checkpoint at event {}", proved.events, c.seq),
        None => writeln!(out, "its event is the one that the signature names; no checkpoint"),
    };
    Ok(out.into())
}
