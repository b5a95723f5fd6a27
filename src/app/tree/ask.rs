//! The servers of a tree, asked: what each lists, or why it could not be asked.

use std::path::Path;

use futures_util::{StreamExt, stream};

use super::{Place, Target, Tree, manifest};
use crate::{
    app::{AppError, Kind, check, servers, view},
    contract::Contract,
    gate::Declared,
    mcp::{self, Limits},
    name::ServerName,
    snapshot::{self, Evidence, Listing, Outcome, RawTool},
};

/// Servers asked at once; each may be a process.
const AT_ONCE: usize = 8;

/// What a server lists.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub name: ServerName,
    /// What was asked.
    pub target: Target,
    /// How a reader knows it.
    pub label: String,
    /// Its tools.
    pub tools: Vec<RawTool>,
    /// Their contracts.
    pub contracts: Vec<Contract>,
    /// How the listing went.
    pub evidence: Evidence,
    /// The version that it declares.
    pub declared: Option<Declared>,
    /// The version that it says itself, wherever its tree declares one.
    pub said: Option<Declared>,
}

/// A server that could not be asked.
#[derive(Debug)]
pub struct Failed {
    /// Its name, where it is known.
    pub name: Option<ServerName>,
    /// Why.
    pub error: Box<AppError>,
}

/// Asks every server, several at once; they are answered in the order in which they were named. Saved answers are read.
pub async fn ask(tree: &Tree, targets: Vec<Target>) -> Vec<Result<Listed, Failed>> {
    let one = async |target: Target| {
        let name = target.name.clone();
        let listed = match &target.place {
            Place::File(_) => return read(tree, target),
            Place::Given(source) => {
                let listing = mcp::list_tools(source, &Limits::default()).await;
                of_listing(tree, target, listing)
            }
            Place::Configured(spec) => match servers::list_once(spec).await {
                Ok(listing) => of_listing(tree, target, listing),
                Err(error) => Err(error),
            },
        };
        listed.map_err(|error| Failed { name, error: Box::new(error) })
    };
    stream::iter(targets).map(one).buffered(AT_ONCE).collect().await
}

/// Reads a saved answer: neither a runtime nor a network is needed.
///
/// # Errors
/// What the file is instead.
pub fn read(tree: &Tree, target: Target) -> Result<Listed, Failed> {
    let name = target.name.clone();
    let Place::File(path) = &target.place else {
        let error = AppError::new(Kind::Internal, "internal", "a server was taken for a file");
        return Err(Failed { name, error: Box::new(error) });
    };
    let text = super::text_of(&tree.folder.join(path), path);
    let path = path.clone();
    text.and_then(|text| of_text(tree, target, &path, &text))
        .map_err(|error| Failed { name, error: Box::new(error) })
}

/// What a saved answer lists.
pub(super) fn of_text(tree: &Tree, target: Target, label: &str, text: &str) -> Result<Listed, AppError> {
    let (saved, contracts) = view::saved(label, text)?;
    let stem = Path::new(label).file_stem().map(|s| s.to_string_lossy().into_owned());
    let named = saved.server.clone().or_else(|| info(saved.server_info.as_ref(), "name")).or(stem);
    listed(tree, target, label.to_owned(), named, saved.server_info.as_ref(), saved.tools, contracts)
}

fn of_listing(tree: &Tree, target: Target, listing: Listing) -> Result<Listed, AppError> {
    let Listing { outcome, evidence, provenance, tools, .. } = listing;
    let label = match &target.name {
        Some(name) => name.to_string(),
        None => provenance.target.clone(),
    };
    if outcome != Outcome::Ok {
        return Err(check::failed_listing(&label, outcome, evidence));
    }
    let contracts = tools.iter().map(Contract::of).collect::<Result<Vec<_>, _>>().map_err(|e| {
        AppError::new(Kind::Unavailable, "malformed-tool", format!("server `{label}`: {e}"))
            .help("no host can call such a tool; repair it in the server")
    })?;
    let server_info = provenance.server_info.as_ref();
    let named = info(server_info, "name");
    // A package that a runner fetches is not the tree's.
    let target = Target { alone: target.alone && provenance.package.is_none(), ..target };
    let mut listed = listed(tree, target, label, named, server_info, tools, contracts)?;
    listed.evidence = evidence;
    Ok(listed)
}

fn listed(
    tree: &Tree,
    target: Target,
    label: String,
    named: Option<String>,
    server_info: Option<&serde_json::Value>,
    tools: Vec<RawTool>,
    contracts: Vec<Contract>,
) -> Result<Listed, AppError> {
    let of_info = info(server_info, "version");
    let said = of_info.clone().map(|version| Declared { version, place: manifest::SAID.to_owned() });
    let declared = manifest::declared(&tree.folder, &target, of_info)?;
    let named = || named.as_deref().and_then(ServerName::adapted);
    let name = target.name.clone().or_else(named).or_else(|| "server".parse().ok()).ok_or_else(|| {
        AppError::new(Kind::Invalid, "no-name", format!("`{label}` has no name"))
            .help("give it one with `--server NAME`")
    })?;
    Ok(Listed { name, target, label, tools, contracts, evidence: Evidence::default(), declared, said })
}

/// A member of `serverInfo` that is a text of ordinary length.
fn info(server_info: Option<&serde_json::Value>, member: &str) -> Option<String> {
    let text = server_info?.get(member)?.as_str()?;
    (!text.is_empty() && text.len() <= snapshot::MAX_ABOUT_BYTES.min(200)).then(|| text.to_owned())
}
