//! What waits behind a draft that somebody works on.

use super::busy;
use crate::{
    app::{App, AppError, TRIES},
    catalog::{Catalog, Draft},
    json::Digest,
    name::ServerName,
    store::EventQuery,
};

impl App {
    /// The servers that offer something else than a draft pins by now, or that the catalog holds since it was made.
    pub(super) async fn queue(
        &self,
        catalog: &Catalog,
        draft: &Draft,
    ) -> Result<Vec<(ServerName, Digest)>, AppError> {
        let mut newer = Vec::new();
        for server in &catalog.servers {
            let pinned = draft.content.servers.iter().find(|pin| pin.server == server.name);
            let now = self.store.last_ok(&server.name).await?.and_then(|row| row.digest);
            let now = now.filter(|digest| pinned.is_none_or(|pin| pin.snapshot != *digest));
            newer.extend(now.map(|digest| (server.name.clone(), digest)));
        }
        Ok(newer)
    }

    /// Forms the draft that waited behind a decided one, if anything did. What is decided is decided: where the next one
    /// cannot be formed now, that is seen at the next snapshot again.
    pub(super) async fn form_next(&self, catalog: &Catalog, decided: &Draft) {
        let formed = async {
            for _ in 0..TRIES {
                let waiting = self.queue(catalog, decided).await?;
                let Some((server, digest)) = waiting.first() else { return Ok(()) };
                // It is the work of whoever brought it, not of whoever decided on the one before.
                let author = self.recorded_by(server, digest).await?;
                let author = author.unwrap_or_else(|| decided.created_by.clone());
                match self.form_draft(catalog, &author).await {
                    Err(e) if e.code == "stale-draft" => continue,
                    formed => return formed.map(|_| ()),
                }
            }
            Err(busy(&catalog.name))
        };
        if let Err(e) = formed.await {
            tracing::warn!(catalog = %catalog.name, error = %e, "what waited behind a draft makes none");
        }
    }

    /// Who recorded a server's snapshot last.
    async fn recorded_by(&self, server: &ServerName, snapshot: &Digest) -> Result<Option<String>, AppError> {
        /// Polls that say nothing new are not recorded, so the snapshot is among the newest.
        const LOOKED_AT: usize = 50;
        let query = EventQuery {
            subject: Some(format!("server/{server}")),
            kind: Some("snapshot.recorded".to_owned()),
            ..EventQuery::default()
        };
        let events = self.store.events_before(&query, 0, i64::MAX, LOOKED_AT).await?;
        let recorded = events.into_iter().find(|e| e.data["snapshot"] == snapshot.as_str());
        Ok(recorded.map(|e| e.actor))
    }
}
