//! Servers and what they listed.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    App, AppError,
    check::computed,
    drafts::Formed,
    servers,
    view::{Drift, ListingRow, Recorded, ServerPage, ServerSummary, ToolRow},
};
use crate::{
    catalog::Draft,
    contract::{self, Contract},
    mcp::{self, Source},
    name::{CatalogName, ServerName},
    snapshot::{Listing, Outcome, Snapshot},
    store::NewListing,
};

/// Listings shown of one server.
const SHOWN: usize = 200;

impl App {
    /// Lists the server and records how it ended. Where the content is new and a catalog holds the server, a draft
    /// forms.
    ///
    /// # Errors
    /// Where the store fails. A listing that failed is an answer, with its outcome.
    pub async fn snapshot(
        &self,
        server: &ServerName,
        source: &Source,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let listing = mcp::list(source, &self.limits).await;
        self.record(server, listing, actor).await
    }

    /// Records a listing that was taken elsewhere (a saved answer).
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn record(
        &self,
        server: &ServerName,
        listing: Listing,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let mut recorded = self.keep(server, listing, actor).await?;
        // A failed listing says nothing about tools, so it never becomes a draft.
        if recorded.listing.outcome == Outcome::Ok {
            (recorded.drafts, recorded.skipped) = self.drafts_of(&[server], actor).await?;
        }
        Ok(recorded)
    }

    /// Records a listing, and says how it relates to the one before. No draft forms.
    pub(super) async fn keep(
        &self,
        server: &ServerName,
        listing: Listing,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let last = self.store.last_ok(server).await?;
        let (before, surfaces_before) = last.map_or((None, Vec::new()), |row| (row.digest, row.surfaces));
        let row = self.record_listing(server, listing, actor).await?;
        let drift = match (before, &row.digest) {
            (_, None) => Drift::Unknown,
            (None, Some(_)) => Drift::First,
            (Some(before), Some(now)) if before == *now => Drift::Identical,
            (Some(before), Some(_)) => Drift::Drift(before),
        };
        let surfaces = self.surface_diffs(server, &surfaces_before, server, &row.surfaces).await?;
        Ok(Recorded { listing: row, drift, surfaces, drafts: Vec::new(), skipped: Vec::new() })
    }

    /// Forms the drafts of all catalogs that hold one of these servers; also where nothing drifted, for a catalog may
    /// have got the server since. Second, the catalogs of which none could be formed, and why.
    pub(super) async fn drafts_of(
        &self,
        servers: &[&ServerName],
        actor: &str,
    ) -> Result<(Vec<Draft>, Vec<(CatalogName, String)>), AppError> {
        let (mut drafts, mut skipped) = (Vec::new(), Vec::new());
        for catalog in self.store.catalogs().await? {
            if !catalog.servers.iter().any(|(name, _)| servers.contains(&name)) {
                continue;
            }
            match self.form_draft(&catalog, actor).await {
                Ok(Formed::New(draft)) => drafts.push(*draft),
                Ok(Formed::Pending(_) | Formed::Rejected(_) | Formed::Nothing) => {}
                Err(e) if e.kind.is_ours() => return Err(e),
                Err(e) => skipped.push((catalog.name, e.message)),
            }
        }
        Ok((drafts, skipped))
    }

    /// Every server, by name: those that are registered, and those that were listed.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn servers(&self) -> Result<Vec<ServerSummary>, AppError> {
        let mut sources: BTreeMap<ServerName, Option<String>> =
            self.store.servers().await?.into_iter().map(|name| (name, None)).collect();
        for registration in self.store.registrations().await? {
            let source = servers::shown(&registration.spec.source);
            sources.insert(registration.spec.name, Some(source));
        }
        let mut all = Vec::new();
        for (name, source) in sources {
            let last = self.store.listings(&name, 1).await?.pop();
            let last_ok = self.store.last_ok(&name).await?;
            all.push(ServerSummary { name, source, last, last_ok });
        }
        Ok(all)
    }

    /// One server with its listings, newest first.
    ///
    /// # Errors
    /// Where it is not registered and nothing was ever recorded of it.
    pub async fn server(&self, name: &ServerName) -> Result<ServerPage, AppError> {
        let listings = self.store.listings(name, SHOWN).await?;
        let registration = self.store.registration(name).await?;
        if listings.is_empty() && registration.is_none() {
            return Err(self.unknown_server(name).await?);
        }
        let source = registration.map(|r| servers::shown(&r.spec.source));
        let tools = match self.store.last_ok(name).await?.and_then(|row| row.digest) {
            None => Vec::new(),
            Some(digest) => {
                let (_, contracts) = self.contracts(name, &digest).await?;
                computed(|| contracts.into_iter().map(tool_row).collect()).await?
            }
        };
        Ok(ServerPage { name: name.clone(), source, listings, tools })
    }

    async fn record_listing(
        &self,
        server: &ServerName,
        listing: Listing,
        actor: &str,
    ) -> Result<ListingRow, AppError> {
        let Listing { mut outcome, mut evidence, mut provenance, tools, surfaces } = listing;
        evidence.warnings.extend(provenance.cut());
        let mut held = None;
        if outcome == Outcome::Ok {
            let snapshot = Snapshot::new(server.clone(), provenance.clone(), tools);
            match contract::contracts(&snapshot) {
                Ok(contracts) => held = Some((snapshot, contracts)),
                // Only what can be read whole is `ok`, wherever the listing came from.
                Err(e) => {
                    outcome = Outcome::Malformed;
                    evidence.message = e.to_string();
                }
            }
        }
        let data = json!({
            "outcome": outcome.as_str(),
            "snapshot": held.as_ref().map(|(s, _)| s.digest.as_str()),
            "tools": held.as_ref().map(|(s, _)| s.tools.len()),
            "target": provenance.target,
        });
        let event = self.event(actor, "snapshot.recorded", format!("server/{server}"), data);
        let at = event.at;
        let surfaces = if held.is_some() { surfaces } else { Vec::new() };
        let server = server.clone();
        let new = NewListing { server, at, outcome, provenance, evidence, snapshot: held, surfaces };
        Ok(self.store.record_listing(new, event).await?)
    }

    /// The error for a server of which nothing was recorded.
    pub(super) async fn unknown_server(&self, name: &ServerName) -> Result<AppError, AppError> {
        let known: Vec<String> = self.store.servers().await?.into_iter().map(String::from).collect();
        Ok(AppError::unknown("server", "unknown-server", name.as_str(), &known))
    }
}

fn tool_row(contract: Contract) -> ToolRow {
    let said = contract.tool().get("title").and_then(|t| t.as_str()).or(contract.description());
    let description = said.and_then(|s| s.lines().next()).unwrap_or_default().to_owned();
    let (digests, tool) = (contract.digests().clone(), contract.tool().clone());
    ToolRow { name: contract.name, description, digests, tool }
}
