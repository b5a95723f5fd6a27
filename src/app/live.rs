//! What is live in an environment, for hosts: which version, its tools byte for byte, and whether a server still lists
//! what is pinned of it.

pub mod cache;

use serde_json::value::RawValue;

use super::{
    App, AppError, Kind,
    access::{Object, Right},
    check::computed,
    view,
};
use crate::{
    catalog::{
        EnvironmentPointer, Member, Move, ServerSource, Version,
        verify::{Verification, verify},
    },
    name::{CatalogName, EnvironmentName, ServerName},
};

/// A tool that a version pins.
#[derive(Debug, Clone)]
pub struct LiveTool {
    /// The server; absent where a hand-written document does not say.
    pub server: Option<ServerName>,
    /// Its name.
    pub tool: String,
    /// Its text as the server sent it.
    pub text: String,
}

/// What a server lists, held against what is live.
#[derive(Debug, Clone)]
pub struct Verified {
    /// What is live.
    pub pointer: EnvironmentPointer,
    /// How the list stands to it.
    pub result: Verification,
}

impl App {
    /// Where an environment points, for the catalog that is named or the only one that was ever live there.
    ///
    /// # Errors
    /// Where the environment does not exist, or the catalog was never live there, or several were and none is named.
    pub async fn live(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
    ) -> Result<EnvironmentPointer, AppError> {
        // What lies outside of a scope is neither told nor counted.
        self.permit(Right::Read, Object { catalog, environment: Some(environment) })?;
        let scoped = self.caller().is_some_and(|caller| caller.scope.catalogs.is_some());
        let chosen = if scoped && catalog.is_none() { Some(self.chosen_catalog(None).await?) } else { None };
        let pointer = self.live_pointer(environment, catalog.or(chosen.as_ref())).await?;
        self.permit_reading(&pointer)?;
        Ok(pointer)
    }

    /// Refuses what is live to whoever may not see it.
    pub(super) fn permit_reading(&self, pointer: &EnvironmentPointer) -> Result<(), AppError> {
        let EnvironmentPointer { environment, catalog, .. } = pointer;
        self.permit(Right::Read, Object { catalog: Some(catalog), environment: Some(environment) })
    }

    async fn live_pointer(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
    ) -> Result<EnvironmentPointer, AppError> {
        if let Some(catalog) = catalog
            && let Some(pointer) = self.store.pointer(environment, catalog).await?
        {
            return Ok(pointer);
        }
        let mut pointers = self.pointers_of(environment).await?;
        pointers.retain(|pointer| self.permit_reading(pointer).is_ok());
        match (catalog, pointers.len()) {
            (Some(catalog), _) => {
                let message = format!("catalog `{catalog}` was never live in environment `{environment}`");
                let error = AppError::new(Kind::NotFound, "never-promoted", message);
                Err(if pointers.is_empty() { error } else { error.help(names(&pointers)) })
            }
            (None, 1) => Ok(pointers.swap_remove(0)),
            (None, several) => {
                let message = format!("environment `{environment}` holds {several} catalogs");
                Err(AppError::new(Kind::Invalid, "ambiguous-catalog", message).help(names(&pointers)))
            }
        }
    }

    /// The tools of a version, of one server or of all, each as its server sent it, in the version's order.
    ///
    /// # Errors
    /// Where the version holds nothing of that server, or pins a tool that is not stored here.
    pub async fn pinned_tools(
        &self,
        version: &Version,
        server: Option<&ServerName>,
    ) -> Result<Vec<LiveTool>, AppError> {
        let whose =
            |member: &&Member| server.is_none_or(|server| member.server.as_ref().is_none_or(|s| s == server));
        let members: Vec<_> = version.content.members.iter().filter(whose).collect();
        let texts = self.pinned_texts(members.iter().copied()).await?;
        let mut tools = Vec::with_capacity(members.len());
        for member in members {
            let label = format!("{}@{}", version.catalog, version.version);
            let not = |code, cause: &str, help: &str| {
                let message = format!("`{label}` cannot be given as tools: {cause} tool `{}`", member.tool);
                AppError::new(Kind::Conflict, code, message).help(help)
            };
            let Some(digests) = &member.digests else {
                let help = "snapshot the server and draft a version of the catalog; that pins the contracts";
                return Err(not("no-contracts", "it names without digests", help));
            };
            let Some(text) = texts.get(&digests.raw).cloned() else {
                let help = "snapshot that release of the server here, from a saved file if it no longer runs";
                return Err(not("contract-not-stored", "this database does not hold the text of", help));
            };
            tools.push(LiveTool { server: member.server.clone(), tool: member.tool.clone(), text });
        }
        if let Some(server) = server
            && tools.is_empty()
        {
            return Err(no_such_server(version, server));
        }
        Ok(tools)
    }

    /// Where the servers of a version are found, in words that hold no secret, each with the names of its tools.
    ///
    /// # Errors
    /// Where nobody said where one of them is found, or a tool has no server.
    pub async fn pinned_servers(
        &self,
        version: &Version,
        server: Option<&ServerName>,
    ) -> Result<Vec<(ServerName, ServerSource, Vec<String>)>, AppError> {
        let settings = self.known_catalog(&version.catalog).await?;
        let mut servers: Vec<(ServerName, ServerSource, Vec<String>)> = Vec::new();
        for member in &version.content.members {
            let Some(name) = &member.server else {
                let message = format!(
                    "tool `{}` of `{}@{}` has no server",
                    member.tool, version.catalog, version.version
                );
                return Err(AppError::new(Kind::Conflict, "no-server-name", message)
                    .help("name each tool's `server` in the catalog's document"));
            };
            if server.is_some_and(|server| server != name) {
                continue;
            }
            if let Some((_, _, tools)) = servers.iter_mut().find(|(known, ..)| known == name) {
                tools.push(member.tool.clone());
                continue;
            }
            let registered = self.store.registration(name).await?.map(|r| r.spec.source);
            let named = || settings.servers.iter().find(|s| s.name == *name).and_then(|s| s.source.clone());
            let Some(source) = registered.or_else(named) else {
                let message = format!("nobody said where server `{name}` is found");
                return Err(AppError::new(Kind::Conflict, "not-registered", message)
                    .help(format!("register it: `toolpact servers add {name} -- COMMAND`")));
            };
            servers.push((name.clone(), source, vec![member.tool.clone()]));
        }
        match server {
            Some(server) if servers.is_empty() => Err(no_such_server(version, server)),
            Some(_) | None => Ok(servers),
        }
    }

    /// Holds what a server lists now against what an environment pins of it. Nothing is stored.
    ///
    /// # Errors
    /// Where the list is none, or nothing of the server is live there.
    pub async fn verify_listing(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
        server: &ServerName,
        listing: Box<RawValue>,
    ) -> Result<Verified, AppError> {
        let pointer = self.live(environment, catalog).await?;
        let version = self.version(&pointer.catalog, pointer.version).await?;
        let members = &version.content.members;
        if !members.iter().any(|m| m.server.as_ref().is_none_or(|s| s == server)) {
            return Err(no_such_server(&version, server));
        }
        let (members, server) = (members.clone(), server.clone());
        let result = computed(move || {
            let side = view::file_side("listing", listing.get())?;
            let listed: Vec<_> = side.servers.into_iter().flat_map(|(_, contracts)| contracts).collect();
            Ok::<_, AppError>(verify(&members, &server, &listed))
        })
        .await??;
        Ok(Verified { pointer, result })
    }

    /// Whether a move or a release was answered under this key before.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn is_answered(&self, key: &str) -> Result<bool, AppError> {
        Ok(self.answered_move(key).await?.is_some())
    }

    /// The move that was made under this key, by whatever request; of a release the one that its pointer stood at.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn answered_move(&self, key: &str) -> Result<Option<Move>, AppError> {
        Ok(self.store.answered(key).await?.map(|(_, made)| made))
    }
}

fn names(pointers: &[EnvironmentPointer]) -> String {
    let names: Vec<String> = pointers.iter().map(|p| format!("`{}`", p.catalog)).collect();
    format!("name one of its catalogs as `catalog`: {}", names.join(", "))
}

fn no_such_server(version: &Version, server: &ServerName) -> AppError {
    let mut known: Vec<String> = Vec::new();
    for name in version.content.members.iter().filter_map(|m| m.server.as_ref()) {
        if !known.iter().any(|k| k == name.as_str()) {
            known.push(name.to_string());
        }
    }
    let message = format!(
        "version {} of catalog `{}` holds nothing of server `{server}`",
        version.version, version.catalog
    );
    AppError::new(Kind::NotFound, "server-not-pinned", message)
        .help(format!("its servers: {}", known.join(", ")))
}
