//! Servers and what they listed.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::{
    App, AppError, Kind,
    check::computed,
    drafts::Formed,
    servers,
    view::{Drift, ListingRow, Recorded, SHOWN, ServerPage, ServerSummary, SplitView, SurfaceRow, ToolRow},
};
use crate::{
    catalog::{
        Draft, ServerSpec,
        alias::{self, ToolAliases},
    },
    contract::{self, Contract},
    json::Digest,
    mcp::{self, Limits, Progress, Room, Source},
    name::{CatalogName, ServerName},
    snapshot::{Listing, Outcome, Snapshot},
    store::{NewListing, ServerRow},
};

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
        let limits = self.limits_for(server).await?.under("default");
        let listing = mcp::list(source, &limits).await;
        self.record(server, listing, actor).await
    }

    /// What asking this server may cost, with what is known of it.
    pub(super) async fn limits_for(&self, server: &ServerName) -> Result<Known, AppError> {
        let rows = self.store.last_by_context(server, true).await?;
        let digests = rows.into_iter().filter_map(|row| Some((row.provenance.auth_context, row.digest?)));
        Ok(Known { limits: self.limits.clone(), digests: digests.collect() })
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
        self.record_all(server, vec![listing], false, actor).await
    }

    /// Records the listings of one server, as [`Self::keep_all`] does, and forms the drafts that come of it.
    pub(super) async fn record_all(
        &self,
        server: &ServerName,
        listings: Vec<Listing>,
        only_news: bool,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let mut recorded = self.keep_all(server, listings, only_news, actor).await?;
        // A failed listing says nothing about tools, so it never becomes a draft.
        if recorded.listing.outcome == Outcome::Ok {
            (recorded.drafts, recorded.skipped) = self.drafts_of(&[server], actor).await?;
        }
        Ok(recorded)
    }

    /// Records the listings of one server under each of its authorization contexts, the one that catalogs rely on
    /// first; `only_news` leaves out what says the same as the one before. No draft forms.
    pub(super) async fn keep_all(
        &self,
        server: &ServerName,
        listings: Vec<Listing>,
        only_news: bool,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let mut listings = listings.into_iter();
        let Some(first) = listings.next() else {
            return Err(AppError::new(
                Kind::Internal,
                "no-listing",
                format!("`{server}` was asked in no way"),
            ));
        };
        let mut recorded = self.keep(server, first, Taken { primary: true, only_news }, actor).await?;
        for listing in listings {
            let taken = Taken { primary: false, only_news };
            let Recorded { listing, drift, .. } = self.keep(server, listing, taken, actor).await?;
            recorded.contexts.push((listing, drift));
        }
        if recorded.contexts.is_empty() {
            return Ok(recorded);
        }
        let spec = self.store.registration(server).await?.map(|r| r.spec);
        let rows = self.store.last_by_context(server, false).await?;
        recorded.split_views = self.split_views(server, spec.as_ref(), &rows).await?;
        let is_new = |drift: &Drift| matches!(drift, Drift::First | Drift::Drift(_));
        let news = is_new(&recorded.drift) || recorded.contexts.iter().any(|(_, drift)| is_new(drift));
        if news && !recorded.split_views.is_empty() {
            let tools: Vec<_> = recorded.split_views.iter().map(|v| &v.tool).collect();
            let subject = format!("server/{server}");
            let event = self.event(actor, "server.split-view", subject, json!({ "tools": tools }));
            self.store.note(event).await?;
        }
        Ok(recorded)
    }

    /// Records a listing, and says how it relates to the one before under the same context. No draft forms.
    async fn keep(
        &self,
        server: &ServerName,
        listing: Listing,
        taken: Taken,
        actor: &str,
    ) -> Result<Recorded, AppError> {
        let context = listing.provenance.auth_context.clone();
        let of_context = async |ok| {
            let rows = self.store.last_by_context(server, ok).await?;
            Ok::<_, AppError>(rows.into_iter().find(|r| r.provenance.auth_context == context))
        };
        let last = of_context(true).await?;
        // The room that it takes is given back when it is written.
        let _held = listing.held.clone();
        let mut new = self.new_listing(server, listing, taken.primary);
        if taken.only_news
            && let Some(row) = of_context(false).await?
            && says_the_same(&row, &new)
        {
            let drift = if row.digest.is_some() { Drift::Identical } else { Drift::Unknown };
            return Ok(Recorded::of(row, drift));
        }
        if let Some((snapshot, contracts)) = &mut new.snapshot
            && last.as_ref().and_then(|row| row.digest.as_ref()) != Some(&snapshot.digest)
        {
            // Its digests are about to be kept, and nothing else of what they are made of.
            *contracts = std::mem::take(contracts).into_iter().map(Contract::digested).collect();
        }
        let (before, surfaces_before) = last.map_or((None, Vec::new()), |row| (row.digest, row.surfaces));
        let row = self.record_listing(new, actor).await?;
        let drift = match (before, &row.digest) {
            (_, None) => Drift::Unknown,
            (None, Some(_)) => Drift::First,
            (Some(before), Some(now)) if before == *now => Drift::Identical,
            (Some(before), Some(_)) => Drift::Drift(before),
        };
        let surfaces = self.surface_diffs(server, &surfaces_before, server, &row.surfaces).await?;
        Ok(Recorded { surfaces, ..Recorded::of(row, drift) })
    }

    /// Tools that a server describes otherwise under one authorization context than under another. A list may vary by
    /// authorization (specification 2026-07-28, server/tools); what one tool is may not. `rows` are the newest listings
    /// by context, however they ended.
    async fn split_views(
        &self,
        server: &ServerName,
        spec: Option<&ServerSpec>,
        rows: &[ListingRow],
    ) -> Result<Vec<SplitView>, AppError> {
        let contexts = spec.map(|spec| spec.contexts.as_slice()).unwrap_or_default();
        if contexts.len() < 2 {
            return Ok(Vec::new());
        }
        let mut seen: BTreeMap<String, Vec<(String, Digest)>> = BTreeMap::new();
        // What a context is told no more, or was told before it failed, is held against nothing.
        for row in rows.iter().filter(|row| contexts.iter().any(|c| c.name == row.provenance.auth_context)) {
            let Some(snapshot) = &row.digest else { continue };
            let mut counted: HashMap<String, usize> = HashMap::new();
            for (tool, raw) in self.store.tool_digests(server, snapshot).await? {
                // A name that occurs twice is another matter.
                let nth = counted.entry(tool.clone()).or_default();
                *nth += 1;
                if *nth == 1 {
                    seen.entry(tool).or_default().push((row.provenance.auth_context.clone(), raw));
                }
            }
        }
        seen.retain(|_, views| views.iter().any(|(_, raw)| *raw != views[0].1));
        Ok(seen.into_iter().map(|(tool, views)| SplitView { tool, views }).collect())
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
            if !catalog.servers.iter().any(|server| servers.contains(&&server.name)) {
                continue;
            }
            match self.form_draft(&catalog, actor).await {
                Ok(Formed::New(draft)) => drafts.push(*draft),
                Ok(Formed::Pending(_) | Formed::Rejected(_) | Formed::Nothing) => {}
                Ok(Formed::Queued(draft)) => {
                    let waits = format!(
                        "draft `d-{}` is under review; what was listed now is drafted when it is decided",
                        draft.id
                    );
                    skipped.push((catalog.name, waits));
                }
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
        let mut all = Vec::new();
        for row in self.store.server_rows(None, None, usize::MAX).await? {
            all.push(self.server_summary(row).await?);
        }
        Ok(all)
    }

    pub(super) async fn server_summary(&self, row: ServerRow) -> Result<ServerSummary, AppError> {
        let ServerRow { name, spec, asked, last, last_ok } = row;
        let split_views = self.split_views(&name, spec.as_ref(), &last).await?;
        let last = last.into_iter().find(|row| row.primary);
        let source = spec.as_ref().map(|spec| servers::shown(&spec.source));
        let contexts = spec.map(|spec| spec.contexts.into_iter().map(|c| c.name).collect());
        let contexts = contexts.unwrap_or_default();
        Ok(ServerSummary { name, source, asked, last, last_ok, split_views, contexts })
    }

    /// One server with its listings, newest first.
    ///
    /// # Errors
    /// Where it is not registered and nothing was ever recorded of it.
    pub async fn server(&self, name: &ServerName) -> Result<ServerPage, AppError> {
        let listings = self.store.listings(name, SHOWN).await?;
        let spec = self.store.registration(name).await?.map(|r| r.spec);
        if listings.is_empty() && spec.is_none() {
            return Err(self.unknown_server(name).await?);
        }
        let rows = self.store.last_by_context(name, false).await?;
        let split_views = self.split_views(name, spec.as_ref(), &rows).await?;
        let source = spec.map(|spec| servers::shown(&spec.source));
        let tools = match self.store.last_ok(name).await?.and_then(|row| row.digest) {
            None => Vec::new(),
            Some(digest) => {
                let (_, contracts) = self.contracts(name, &digest).await?;
                computed({
                    let name = name.clone();
                    move || tool_rows(&name, contracts)
                })
                .await?
            }
        };
        let asked = self.store.asked(name).await?;
        Ok(ServerPage { name: name.clone(), source, asked, listings, tools, split_views })
    }

    fn new_listing(&self, server: &ServerName, listing: Listing, primary: bool) -> NewListing {
        let Listing { mut outcome, mut evidence, mut provenance, tools, surfaces, held: _ } = listing;
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
        let surfaces = if held.is_some() { surfaces } else { Vec::new() };
        let (server, at) = (server.clone(), self.now());
        NewListing { server, at, outcome, provenance, evidence, snapshot: held, surfaces, primary }
    }

    async fn record_listing(&self, new: NewListing, actor: &str) -> Result<ListingRow, AppError> {
        let mut data = json!({
            "outcome": new.outcome.as_str(),
            "snapshot": new.snapshot.as_ref().map(|(s, _)| s.digest.as_str()),
            "tools": new.snapshot.as_ref().map(|(s, _)| s.tools.len()),
            "target": new.provenance.target,
        });
        if !new.primary {
            data["context"] = new.provenance.auth_context.as_str().into();
        }
        let event = self.event(actor, "snapshot.recorded", format!("server/{}", new.server), data);
        let outcome = new.outcome;
        let row = self.store.record_listing(new, event).await?;
        super::counts::snapshot(outcome);
        Ok(row)
    }

    /// The error for a server of which nothing was recorded.
    pub(super) async fn unknown_server(&self, name: &ServerName) -> Result<AppError, AppError> {
        let known: Vec<String> = self.store.servers().await?.into_iter().map(String::from).collect();
        Ok(AppError::unknown("server", "unknown-server", name.as_str(), &known))
    }
}

/// Whether a listing says nothing that the newest of its context did not say.
fn says_the_same(row: &ListingRow, new: &NewListing) -> bool {
    let snapshot = new.snapshot.as_ref().map(|(snapshot, _)| &snapshot.digest);
    let surfaces: Vec<SurfaceRow> = new.surfaces.iter().map(SurfaceRow::from).collect();
    row.outcome == new.outcome
        && row.digest.as_ref() == snapshot
        && row.primary == new.primary
        && row.provenance == new.provenance
        && row.surfaces == surfaces
        && row.evidence.message == new.evidence.message
        && row.evidence.warnings == new.evidence.warnings
}

/// What asking a server may cost, with the digest of what it listed last under each of its contexts.
pub(super) struct Known {
    limits: Limits,
    digests: HashMap<String, Digest>,
}

impl Known {
    /// What all listings may hold at once.
    pub(super) fn room(&self) -> &Room {
        &self.limits.room
    }

    /// The same, with somebody who looks on.
    pub(super) fn watched(mut self, progress: Progress) -> Self {
        self.limits.progress = progress;
        self
    }

    /// For one context.
    pub(super) fn under(&self, context: &str) -> Limits {
        Limits { known: self.digests.get(context).cloned(), ..self.limits.clone() }
    }
}

/// How a listing was taken.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// Under the context that catalogs rely on.
    primary: bool,
    /// What says the same as the one before is not recorded again.
    only_news: bool,
}

fn tool_rows(server: &ServerName, contracts: Vec<Contract>) -> Vec<ToolRow> {
    let names: Vec<(&str, &str)> = contracts.iter().map(|c| (server.as_str(), c.name.as_str())).collect();
    let aliases = alias::of(&names);
    contracts.into_iter().zip(aliases).map(|(contract, aliases)| tool_row(contract, aliases)).collect()
}

fn tool_row(contract: Contract, aliases: ToolAliases) -> ToolRow {
    let said = contract.tool().get("title").and_then(|t| t.as_str()).or(contract.description());
    let description = said.and_then(|s| s.lines().next()).unwrap_or_default().to_owned();
    let (digests, tool) = (contract.digests().clone(), contract.tool().clone());
    ToolRow { name: contract.name, description, digests, aliases, tool }
}
