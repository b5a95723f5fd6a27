//! What is live, and whether the servers still say what it pins.

use std::collections::HashMap;

use super::{App, AppError};
use crate::{
    catalog::{Catalog, EnvironmentPointer},
    json::Digest,
    name::{CatalogName, ServerName},
    snapshot::Outcome,
};

/// What is live in an environment, of one catalog.
#[derive(Debug, Clone)]
pub struct Live {
    /// Where it points.
    pub pointer: EnvironmentPointer,
    /// The digest of the version.
    pub digest: Digest,
    /// The servers that serve its tools there.
    pub servers: Vec<ServerName>,
    /// Whether its servers still list what it was made from.
    pub drift: LiveDrift,
}

/// Whether servers list what a live version was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveDrift {
    /// All of them do.
    None,
    /// These list something else.
    Servers(Vec<ServerName>),
    /// Of these it is not known: they never listed well, or not the last time. Nothing is known where none is named, because
    /// the version says no releases.
    Unknown(Vec<ServerName>),
}

/// The newest good snapshot of a server, and how its newest listing ended.
type Newest = (Option<Digest>, Option<Outcome>);

impl App {
    /// Everything that is live, by environment and catalog. What is told of drift is what the newest snapshots say: a server
    /// whose tools are held only in part drifts here where any of them does.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn lives(&self) -> Result<Vec<Live>, AppError> {
        let mut catalogs: HashMap<CatalogName, Catalog> = HashMap::new();
        let mut servers: HashMap<ServerName, Newest> = HashMap::new();
        let mut all = Vec::new();
        for pointer in self.store.pointers().await? {
            let version = self.version(&pointer.catalog, pointer.version).await?;
            if !catalogs.contains_key(&pointer.catalog) {
                let settings = self.known_catalog(&pointer.catalog).await?;
                catalogs.insert(pointer.catalog.clone(), settings);
            }
            let settings = catalogs.get(&pointer.catalog);
            let demands = settings.and_then(|c| c.environments.get(&pointer.environment));
            let (mut serve, mut drifted, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
            for pin in &version.content.servers {
                let serving = demands.map_or(&pin.server, |demands| demands.serving(&pin.server));
                let (digest, outcome) = match servers.get(serving) {
                    Some(known) => known.clone(),
                    None => {
                        let newest = self.newest(serving).await?;
                        servers.entry(serving.clone()).or_insert(newest).clone()
                    }
                };
                serve.push(serving.clone());
                match (digest, outcome) {
                    (Some(digest), _) if digest != pin.snapshot => drifted.push(serving.clone()),
                    (Some(_), Some(Outcome::Ok)) => {}
                    (_, _) => unknown.push(serving.clone()),
                }
            }
            let drift = if !drifted.is_empty() {
                LiveDrift::Servers(drifted)
            } else if !unknown.is_empty() || version.content.servers.is_empty() {
                LiveDrift::Unknown(unknown)
            } else {
                LiveDrift::None
            };
            all.push(Live { pointer, digest: version.digest, servers: serve, drift });
        }
        Ok(all)
    }

    async fn newest(&self, server: &ServerName) -> Result<Newest, AppError> {
        let digest = self.store.last_ok(server).await?.and_then(|row| row.digest);
        let last = self.store.last_by_context(server, false).await?;
        Ok((digest, last.into_iter().find(|row| row.primary).map(|row| row.outcome)))
    }
}
