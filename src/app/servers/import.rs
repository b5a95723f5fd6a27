//! Import: what a host's configuration or a registry names becomes registered servers.

use serde::Serialize;
use serde_json::json;

use super::shown;
use crate::{
    app::{App, AppError, Kind, access::Right},
    catalog::{ServerSpec, document::Document},
    config::{
        self, ConfigError, Entry, Found,
        registry::{Client, Limits, RegistryError},
    },
    contract,
    name::ServerName,
    store::Registration,
};

/// What importing a server means for what is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It was not registered.
    New,
    /// It is registered as it stands.
    Unchanged,
    /// It is registered otherwise: the lines that differ, `-` for what is registered, `+` for what was read.
    Changed(Vec<String>),
}

/// One server of an import.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// The server.
    pub server: ServerName,
    /// Where it is found.
    pub source: String,
    /// What importing it means.
    pub change: Change,
    /// The variables that have to be set before it can be asked.
    pub variables: Vec<String>,
    /// What whoever imports it should know.
    pub notes: Vec<String>,
}

/// The answer of an import.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Import {
    /// The servers, in the order in which they were found.
    pub servers: Vec<Imported>,
    /// What stands there and cannot be registered, and why.
    pub skipped: Vec<(String, String)>,
    /// Whether it was written; where nothing was new, there was nothing to write.
    pub applied: bool,
}

impl Import {
    /// The servers that are registered otherwise.
    pub fn changed(&self) -> impl Iterator<Item = &Imported> {
        self.servers.iter().filter(|s| matches!(s.change, Change::Changed(_)))
    }
}

/// Reads a configuration file. `path` names it in errors, and some hosts are known by it.
///
/// # Errors
/// What is wrong with it, with its place.
pub fn read(path: &str, text: &str, options: config::Options) -> Result<Found, AppError> {
    config::read(path, text, options).map_err(|error| {
        let separator = if matches!(error, ConfigError::Syntax { .. }) { ":" } else { ": " };
        let help = match &error {
            ConfigError::NoServers(_) => "see `toolpact import --help` for whose files are read",
            ConfigError::Clash { .. } => "rename one of them in the file",
            ConfigError::Syntax { .. } | ConfigError::TooLarge | ConfigError::Entry { .. } => "",
        };
        AppError::new(Kind::Invalid, "invalid-configuration", format!("{path}{separator}{error}")).help(help)
    })
}

/// Asks a registry: for these servers, or for all that a search finds.
///
/// # Errors
/// Where it does not answer, or does not know a server that is named.
pub async fn read_registry(
    url: &str,
    names: &[String],
    search: Option<&str>,
    package: bool,
) -> Result<Found, AppError> {
    let client = Client::new(url, Limits::default()).map_err(refused)?;
    let mut answers = Vec::new();
    if names.is_empty() {
        answers = client.servers(search).await.map_err(refused)?;
    }
    for name in names {
        answers.push(client.server(name).await.map_err(refused)?);
    }
    config::registry::read(&answers, package)
        .map_err(|e| AppError::new(Kind::Invalid, "invalid-configuration", e.to_string()))
}

fn refused(error: RegistryError) -> AppError {
    let (kind, code) = match &error {
        RegistryError::Url(_) => (Kind::Invalid, "invalid-registry"),
        RegistryError::NoServer { .. } => (Kind::NotFound, "unknown-server"),
        RegistryError::TooLarge { .. } => (Kind::Invalid, "registry-too-large"),
        RegistryError::Unreachable { .. }
        | RegistryError::Status { .. }
        | RegistryError::Malformed { .. }
        | RegistryError::Circle { .. } => (Kind::Unavailable, "registry-unavailable"),
    };
    AppError::new(kind, code, error.to_string()).caused_by(error)
}

impl App {
    /// Registers what was found: all of it, or none. Where a server is registered otherwise nothing is written, unless
    /// `replace` says so; and nothing is where `dry_run` only asks.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn import(
        &self,
        found: Found,
        replace: bool,
        dry_run: bool,
        actor: &str,
    ) -> Result<Import, AppError> {
        self.permit_whole(Right::Configure)?;
        let mut import = Import { servers: Vec::new(), skipped: found.skipped, applied: false };
        let mut specs = Vec::new();
        for Entry { spec, notes } in found.servers {
            let known = self.store.registration(&spec.name).await?.map(|r| r.spec);
            let change = match &known {
                None => Change::New,
                Some(known) if known.source == spec.source => Change::Unchanged,
                Some(known) => Change::Changed(difference(known, &spec)),
            };
            import.servers.push(Imported {
                server: spec.name.clone(),
                source: shown(&spec.source),
                variables: spec.source.variables().into_iter().map(str::to_owned).collect(),
                change: change.clone(),
                notes,
            });
            // What was said of it beside its source stays.
            let spec = known.map_or(spec.clone(), |known| ServerSpec { source: spec.source, ..known });
            specs.extend((change != Change::Unchanged).then_some(spec));
        }
        let refused = import.changed().next().is_some() && !replace;
        if !dry_run && !refused && !specs.is_empty() {
            self.register(specs, actor).await?;
            import.applied = true;
        }
        Ok(import)
    }

    /// Registers servers, each with its event.
    pub(in crate::app) async fn register(&self, specs: Vec<ServerSpec>, actor: &str) -> Result<(), AppError> {
        let event = |spec: &ServerSpec| {
            let data = json!({ "source": shown(&spec.source), "variables": spec.source.variables() });
            self.event(actor, "server.registered", format!("server/{}", spec.name), data)
        };
        let events = specs.iter().map(event).collect();
        let registration =
            |spec| Registration { spec, registered_by: actor.to_owned(), registered_at: self.now() };
        let registrations: Vec<Registration> = specs.into_iter().map(registration).collect();
        Ok(self.store.register(&registrations, events).await?)
    }
}

/// The lines of two specs that differ, as a document writes them.
pub(super) fn difference(was: &ServerSpec, now: &ServerSpec) -> Vec<String> {
    let lines = |spec: &ServerSpec| -> Vec<String> {
        let server = crate::catalog::document::Server {
            name: spec.name.clone(),
            source: Some(spec.source.clone()),
            selection: None,
            snapshot: None,
            version: None,
            protocol: None,
        };
        let document = Document {
            catalog: None,
            version: None,
            policy: None,
            environments: None,
            servers: vec![server],
            digest_policy: contract::POLICY.to_owned(),
            tools: None,
        };
        document.write().lines().skip(2).map(|line| line.trim().to_owned()).collect()
    };
    let (was, now) = (lines(was), lines(now));
    let gone = was.iter().filter(|line| !now.contains(line)).map(|line| format!("- {line}"));
    let come = now.iter().filter(|line| !was.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(come).collect()
}
