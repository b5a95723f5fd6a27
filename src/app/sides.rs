//! What a person wrote for one side of a diff, resolved to contracts.

use std::collections::HashMap;

use serde_json::{Value, value::RawValue};

use super::{App, AppError, Kind, check};
use crate::{
    catalog::{
        CatalogVersion, Member, Version,
        alias::{self, ToolAliases},
        draft::{Release, Returned},
    },
    contract::{self, Contract},
    diff::Side,
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::{RawTool, Snapshot},
};

/// Fewer hex digits of a digest are taken for a slip of the hand.
const SHORTEST_PREFIX: usize = 6;

/// What becomes of members whose contract no document pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unpinned {
    /// The side is refused: it would say less than the version does.
    Refuse,
    /// They are left out: there is nothing to compare, and the draft pins them.
    LeaveOut,
}

impl App {
    /// Resolves what a person wrote for one side: `server@latest`, `server@sha256:…` (or the first 6 and more hex
    /// digits), `catalog@2026.11.30`, `catalog@latest`, or an environment's name. Files are resolved by
    /// [`super::view::file_side`].
    ///
    /// # Errors
    /// Where it names nothing, or something without contracts.
    pub async fn side(&self, text: &str) -> Result<Side, AppError> {
        let Some((name, what)) = text.split_once('@') else { return self.environment_side(text).await };
        if let Ok(version) = what.parse::<CatalogVersion>() {
            let catalog: CatalogName = name.parse().map_err(|e| bad_side(text, e))?;
            let version = self.version(&catalog, version).await?;
            return self.version_side(text, &version, Unpinned::Refuse).await;
        }
        let server: ServerName = name.parse().map_err(|e| bad_side(text, e))?;
        let digest = if what == "latest" {
            if let Some(digest) = self.store.last_ok(&server).await?.and_then(|row| row.digest) {
                digest
            } else if let Some(version) = self.latest_of_catalog(name).await? {
                return self.version_side(text, &version, Unpinned::Refuse).await;
            } else if self.store.listings(&server, 1).await?.is_empty() {
                return Err(self.unknown_server(&server).await?);
            } else {
                let message = format!("server `{server}` has no snapshot: none of its listings ended `ok`");
                return Err(AppError::new(Kind::NotFound, "no-snapshot", message)
                    .help("see `toolpact status` for how they ended"));
            }
        } else {
            self.digest_like(&server, text, what).await?
        };
        let (_, contracts) = self.contracts(&server, &digest).await?;
        Ok(Side { label: text.to_owned(), servers: vec![(Some(server), contracts)] })
    }

    /// The snapshot that a text names, where it names one and no version or environment.
    pub(super) async fn snapshot_named(&self, text: &str) -> Result<Option<(ServerName, Digest)>, AppError> {
        let Some((name, what)) = text.split_once('@') else { return Ok(None) };
        let (Ok(server), Err(_)) = (name.parse::<ServerName>(), what.parse::<CatalogVersion>()) else {
            return Ok(None);
        };
        let digest = if what == "latest" {
            self.store.last_ok(&server).await?.and_then(|row| row.digest)
        } else {
            Some(self.digest_like(&server, text, what).await?)
        };
        Ok(digest.map(|digest| (server, digest)))
    }

    /// The tools of one server of a side as a saved answer, each as its server sent it, a line each: what
    /// [`super::view::file_side`] reads where this database is not.
    ///
    /// # Errors
    /// Where the side names nothing, or holds several servers and none is named.
    pub async fn saved_answer(&self, text: &str, server: Option<&ServerName>) -> Result<String, AppError> {
        let side = check::of_server(self.side(text).await?, server)?;
        let mut whose = String::new();
        let mut tools = Vec::new();
        for (server, contracts) in &side.servers {
            if let Some(server) = server {
                whose = format!("\"server\":{},", serde_json::Value::from(server.as_str()));
            }
            let raws: Vec<_> = contracts.iter().map(|contract| &contract.digests().raw).collect();
            let texts = self.store.tool_texts(&raws).await?;
            for (contract, raw) in contracts.iter().zip(raws) {
                let text = texts.get(raw).cloned();
                tools.push(text.ok_or_else(|| unreadable(format!("`{}` has no text", contract.name)))?);
            }
        }
        Ok(format!("{{{whose}\"tools\":[\n{}\n]}}\n", tools.join(",\n")))
    }

    /// The names under which hosts show the tools of a side to a model.
    ///
    /// # Errors
    /// Where the side names nothing, or a tool of it has no server.
    pub async fn aliases(
        &self,
        text: &str,
        server: Option<&ServerName>,
    ) -> Result<Vec<ToolAliases>, AppError> {
        let mut side = self.side(text).await?;
        if server.is_some() {
            side = check::of_server(side, server)?;
        }
        let mut tools = Vec::new();
        for (server, contracts) in &side.servers {
            let Some(server) = server else {
                let message = format!(
                    "`{text}` does not say whose tools it holds, and hosts put the server's name in front"
                );
                return Err(AppError::new(Kind::Invalid, "no-server-name", message)
                    .help("name each tool's `server` in the catalog's document"));
            };
            tools.extend(contracts.iter().map(|contract| (server.as_str(), contract.name.as_str())));
        }
        Ok(alias::of(&tools))
    }

    async fn latest_of_catalog(&self, name: &str) -> Result<Option<Version>, AppError> {
        match name.parse::<CatalogName>() {
            Ok(catalog) => Ok(self.store.latest_version(&catalog).await?),
            Err(_) => Ok(None),
        }
    }

    async fn digest_like(&self, server: &ServerName, side: &str, what: &str) -> Result<Digest, AppError> {
        let hex = what.strip_prefix("sha256:").unwrap_or(what).to_ascii_lowercase();
        if hex.len() < SHORTEST_PREFIX || hex.len() > 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            let cause = format!(
                "`{what}` is neither `latest`, nor a catalogVersion, nor a digest of {SHORTEST_PREFIX} to 64 hex digits"
            );
            return Err(bad_side(side, cause));
        }
        let mut found = self.store.snapshots_like(server, &hex).await?;
        match (found.pop(), found.len()) {
            (Some(digest), 0) => Ok(digest),
            (Some(_), more) => {
                let message = format!("`{side}` fits {} snapshots of server `{server}`", more + 1);
                Err(AppError::new(Kind::Invalid, "ambiguous-digest", message)
                    .help("write more of the digest"))
            }
            (None, _) if self.store.listings(server, 1).await?.is_empty() => {
                Err(self.unknown_server(server).await?)
            }
            (None, _) => {
                let message = format!("server `{server}` has no snapshot whose digest begins with `{hex}`");
                Err(AppError::new(Kind::NotFound, "unknown-snapshot", message)
                    .help(format!("`{server}@latest` is its newest")))
            }
        }
    }

    async fn environment_side(&self, text: &str) -> Result<Side, AppError> {
        let name: EnvironmentName = text.parse().map_err(|e| bad_side(text, e))?;
        let mut side = Side { label: text.to_owned(), servers: Vec::new() };
        let pointers = match self.pointers_of(&name).await {
            Err(e) if e.kind == Kind::NotFound => return Err(self.meant_otherwise(text, e).await?),
            found => found?,
        };
        for pointer in pointers {
            let version = self.version(&pointer.catalog, pointer.version).await?;
            let label = format!("{}@{}", version.catalog, version.version);
            for (server, contracts) in self.version_side(&label, &version, Unpinned::Refuse).await?.servers {
                match side.servers.iter_mut().find(|(s, _)| *s == server) {
                    // Two catalogs may hold the same server; what both hold alike counts once.
                    Some((_, known)) => {
                        for contract in contracts {
                            if !known.iter().any(|k| k.digests().raw == contract.digests().raw) {
                                known.push(contract);
                            }
                        }
                    }
                    None => side.servers.push((server, contracts)),
                }
            }
        }
        Ok(side)
    }

    /// The error for a name that is no environment: a server or a catalog is named with what of it is meant.
    async fn meant_otherwise(&self, text: &str, error: AppError) -> Result<AppError, AppError> {
        let server = self.store.servers().await?.iter().any(|s| s.as_str() == text);
        let catalog = self.store.catalogs().await?.iter().any(|c| c.name.as_str() == text);
        let what = match (server, catalog) {
            (true, _) => "server",
            (false, true) => "catalog",
            (false, false) => return Ok(error),
        };
        let message = format!("`{text}` is a {what}, not an environment; did you mean `{text}@latest`?");
        Ok(AppError::new(Kind::NotFound, error.code, message).help(error.help))
    }

    /// The contracts that a version pins.
    pub(super) async fn version_side(
        &self,
        label: &str,
        version: &Version,
        unpinned: Unpinned,
    ) -> Result<Side, AppError> {
        let texts = self.pinned_texts(&version.content.members).await?;
        let mut side = Side { label: label.to_owned(), servers: Vec::new() };
        for (index, member) in version.content.members.iter().enumerate() {
            let Some(digests) = &member.digests else {
                if unpinned == Unpinned::LeaveOut {
                    continue;
                }
                let message = format!(
                    "`{label}` cannot be compared: it names tool `{}` without digests, so its contract is not known",
                    member.tool
                );
                return Err(AppError::new(Kind::Invalid, "no-contracts", message).help(
                    "snapshot the server and draft a version of the catalog; that pins the contracts",
                ));
            };
            let Some(text) = texts.get(&digests.raw).cloned() else {
                let message = format!(
                    "`{label}` cannot be compared: the text of tool `{}` ({}) is not in this database",
                    member.tool, digests.raw
                );
                return Err(AppError::new(Kind::Invalid, "contract-not-stored", message).help(
                    "snapshot that release of the server here, from a saved file if it no longer runs",
                ));
            };
            let contract = contract_of(index, text)?;
            add(&mut side, member.server.as_ref(), contract);
        }
        Ok(side)
    }

    /// The texts of those of these members that pin a contract whose text is in this database, by raw digest.
    pub(super) async fn pinned_texts<'a>(
        &self,
        members: impl IntoIterator<Item = &'a Member>,
    ) -> Result<HashMap<Digest, String>, AppError> {
        let raws: Vec<_> = members.into_iter().filter_map(|m| m.digests.as_ref()).map(|d| &d.raw).collect();
        Ok(self.store.tool_texts(&raws).await?)
    }

    /// A tool as its server lists it, by its raw digest; nothing where its text is not in this database.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn listed_tool(&self, raw: &Digest) -> Result<Option<Value>, AppError> {
        let text = self.store.tool_text(raw).await?;
        text.map(|text| contract_of(0, text).map(|contract| contract.tool().clone())).transpose()
    }

    /// What tools that came back were, and are, as the two sides of a diff. One whose older text is not in this database is
    /// left out of both: there is nothing to compare.
    pub(super) async fn returned_sides(&self, returned: &[Returned<'_>]) -> Result<(Side, Side), AppError> {
        let texts = self.pinned_texts(returned.iter().map(|tool| tool.before)).await?;
        let (mut before, mut after) = (Side::default(), Side::default());
        for (index, tool) in returned.iter().enumerate() {
            let Some(digests) = &tool.before.digests else { continue };
            let Some(text) = texts.get(&digests.raw).cloned() else { continue };
            add(&mut before, Some(&tool.server), contract_of(index, text)?);
            add(&mut after, Some(&tool.server), tool.contract.clone());
        }
        Ok((before, after))
    }

    /// A stored snapshot with its contracts.
    pub(super) async fn contracts(
        &self,
        server: &ServerName,
        digest: &Digest,
    ) -> Result<(Snapshot, Vec<Contract>), AppError> {
        let Some(snapshot) = self.store.snapshot(server, digest).await? else {
            let message = format!("snapshot {digest} of server `{server}` is not in this database");
            return Err(AppError::new(Kind::NotFound, "unknown-snapshot", message));
        };
        check::computed(move || {
            let contracts = contract::contracts(&snapshot).map_err(unreadable)?;
            Ok((snapshot, contracts))
        })
        .await?
    }
}

/// The side that a draft of these releases is.
pub(super) fn candidate(label: String, releases: &[Release]) -> Side {
    let servers = releases.iter().map(|r| (Some(r.pin.server.clone()), r.contracts.clone())).collect();
    Side { label, servers }
}

/// Adds a tool to its server's.
fn add(side: &mut Side, server: Option<&ServerName>, contract: Contract) {
    match side.servers.iter_mut().find(|(s, _)| s.as_ref() == server) {
        Some((_, contracts)) => contracts.push(contract),
        None => side.servers.push((server.cloned(), vec![contract])),
    }
}

pub(super) fn contract_of(index: usize, text: String) -> Result<Contract, AppError> {
    let raw = RawValue::from_string(text).map_err(|e| unreadable(&e))?;
    Contract::of(&RawTool { index, raw: raw.into() }).map_err(unreadable)
}

/// Only what could be read was ever stored, so this is not the caller's fault.
fn unreadable(cause: impl std::fmt::Display) -> AppError {
    AppError::new(Kind::Internal, "corrupt-database", format!("a stored tool cannot be read: {cause}"))
}

fn bad_side(side: &str, cause: impl std::fmt::Display) -> AppError {
    AppError::new(Kind::Invalid, "bad-side", format!("`{side}` names no side of a diff: {cause}")).help(
        "write a file, `server@latest`, `server@DIGEST`, `catalog@2026.11.30`, or the name of an environment",
    )
}
