//! `export`: writes a catalog version as a document that `apply` reads, or as a bundle that `verify-catalog` does.

use super::{
    Answer,
    context::{Access, Context},
};
use crate::{app::AppError, catalog::CatalogVersion, name::CatalogName};

/// Write a catalog version as YAML, or with all that proves it.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The catalog, or `catalog@2026.11.30`; the newest version where none is given.
    #[arg(value_name = "CATALOG[@VERSION]", value_parser = target)]
    target: (CatalogName, Option<CatalogVersion>),
    /// Write the version with its contracts, what was signed of it and its place in the audit log, as JSON that
    /// `verify-catalog` checks on any machine. With `--signing-key` the log goes on to a checkpoint of now.
    #[arg(long)]
    bundle: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<Answer, AppError> {
    let (catalog, version) = &args.target;
    let text = context.with_app(Access::Read, async |app| {
        if args.bundle {
            Ok(app.bundle(catalog, *version).await?.write())
        } else {
            app.export(catalog, *version).await
        }
    })?;
    Ok(text.into())
}

fn target(text: &str) -> Result<(CatalogName, Option<CatalogVersion>), String> {
    let (name, version) = text.split_once('@').map_or((text, None), |(n, v)| (n, Some(v)));
    let name = name.parse().map_err(|e: crate::name::InvalidName| e.to_string())?;
    let version = version
        .map(|v| v.parse().map_err(|e: crate::catalog::version::InvalidCatalogVersion| e.to_string()))
        .transpose()?;
    Ok((name, version))
}
