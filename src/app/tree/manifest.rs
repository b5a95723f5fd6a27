//! The version that a tree declares for its server: in its own manifest, or by what the server says of itself.

use std::{fs, path::Path};

use super::Target;
use crate::{
    app::{AppError, Kind},
    gate::Declared,
};

/// The place of what a server says of itself.
pub(super) const SAID: &str = "serverInfo";

/// The files in which it is looked for, in this order.
const MANIFESTS: [&str; 3] = ["package.json", "pyproject.toml", "Cargo.toml"];

/// The version of a server: where somebody says that it stands, in the manifest of the tree where it is the tree's only
/// server, or as it says itself.
///
/// # Errors
/// Where the file that was named does not say it.
pub(super) fn declared(
    folder: &Path,
    target: &Target,
    of_info: Option<String>,
) -> Result<Option<Declared>, AppError> {
    if let Some(path) = &target.version {
        let version = version_in(folder, path);
        return version.map(|version| Some(Declared { version, place: path.clone() })).ok_or_else(|| {
            AppError::new(Kind::Invalid, "no-version", format!("`{path}` declares no version")).help(
                "name a package.json, pyproject.toml or Cargo.toml that has one in `version` of `toolpact.yaml`",
            )
        });
    }
    let own = MANIFESTS.iter().filter(|_| target.alone).find_map(|path| {
        let version = version_in(folder, path)?;
        Some(Declared { version, place: (*path).to_owned() })
    });
    Ok(own.or_else(|| Some(Declared { version: of_info?, place: SAID.to_owned() })))
}

/// The version that a manifest declares; nothing where it is none that can be read, or leaves it to a tool.
fn version_in(folder: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(path)).ok()?;
    if path.to_ascii_lowercase().ends_with(".json") {
        let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
        return manifest.get("version")?.as_str().map(str::to_owned);
    }
    let manifest: toml::Table = toml::from_str(&text).ok()?;
    let at = |path: &[&str]| {
        let mut value = manifest.get(*path.first()?)?;
        for step in &path[1..] {
            value = value.get(*step)?;
        }
        value.as_str().map(str::to_owned)
    };
    [
        &["project", "version"][..],
        &["tool", "poetry", "version"],
        &["package", "version"],
        &["workspace", "package", "version"],
    ]
    .into_iter()
    .find_map(at)
}
