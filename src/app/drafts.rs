//! Drafts: how they form, and how a review ends.

use serde_json::json;

use super::{
    App, AppError, Kind,
    catalogs::settings,
    check::compared,
    reason,
    sides::{self, Unpinned},
};
use crate::{
    catalog::{
        Catalog, CatalogVersion, Draft, DraftStatus, Policy, ServerPin, Version,
        draft::{self, Release},
    },
    diff::{Assumption, Options, Report, Side},
    name::{CatalogName, ServerName},
    store::{Decision, NewDraft, StoreError},
};

/// What forming a draft led to.
pub(super) enum Formed {
    /// A new draft waits.
    New(Box<Draft>),
    /// This one waits already.
    Pending(Box<Draft>),
    /// This one was refused, and nothing changed since.
    Rejected(Box<NewDraft>),
    /// The catalog's newest version is what its servers offer.
    Nothing,
}

impl App {
    /// Makes a draft of a catalog from the latest snapshots of its servers. The catalog is created where it does not
    /// exist and `servers` names some.
    ///
    /// # Errors
    /// Where the catalog does not exist, a server has no snapshot, or nothing changed.
    pub async fn draft(
        &self,
        catalog: &CatalogName,
        servers: &[ServerName],
        actor: &str,
    ) -> Result<Draft, AppError> {
        let catalog = self.catalog_with(catalog, servers, actor).await?;
        match self.form_draft(&catalog, actor).await? {
            Formed::New(draft) | Formed::Pending(draft) => Ok(*draft),
            // Asked for by name, what was refused is put up for review once more.
            Formed::Rejected(new) => self.open_draft(*new, actor).await,
            Formed::Nothing => {
                let message = format!(
                    "catalog `{}` has nothing to draft: its servers offer what its newest version holds",
                    catalog.name
                );
                Err(AppError::new(Kind::Conflict, "nothing-changed", message)
                    .help("snapshot a server first, if its release is newer than its last snapshot"))
            }
        }
    }

    /// One draft, with the report as it was judged when the draft was made.
    ///
    /// # Errors
    /// Where it does not exist.
    pub async fn get_draft(&self, catalog: &CatalogName, id: i64) -> Result<Draft, AppError> {
        if let Some(draft) = self.store.draft(catalog, id).await? {
            return Ok(draft);
        }
        self.known_catalog(catalog).await?;
        let help = match self.store.latest_draft(catalog).await? {
            Some(newest) => format!("its newest draft is d-{}", newest.id),
            None => "it has no draft yet".to_owned(),
        };
        let message = format!("catalog `{catalog}` has no draft `d-{id}`");
        Err(AppError::new(Kind::NotFound, "unknown-draft", message).help(help))
    }

    /// The draft's content against its base, judged again under this assumption (for reading; decides nothing).
    ///
    /// # Errors
    /// Where the draft does not exist.
    pub async fn draft_report(
        &self,
        catalog: &CatalogName,
        id: i64,
        assumption: Assumption,
    ) -> Result<Report, AppError> {
        let draft = self.get_draft(catalog, id).await?;
        let base = match draft.base {
            Some(number) => Some(self.version(catalog, number).await?),
            None => None,
        };
        let baseline = self.baseline(base.as_ref()).await?;
        let mut releases = Vec::new();
        for pin in draft.content.servers {
            let (_, contracts) = self.contracts(&pin.server, &pin.snapshot).await?;
            releases.push(Release { pin, contracts });
        }
        let options = Options { assume: assumption, formats: draft.report.formats };
        compared(baseline, sides::candidate(draft.report.candidate, &releases), options).await
    }

    /// Makes a pending draft an approved version. Where the catalog's policy blocks its report, `accept_breaking` has
    /// to be true, and a reason is always needed. Absolute findings cannot be accepted.
    ///
    /// # Errors
    /// Where the draft is not pending, its base is not the newest version any more, or the policy blocks it.
    pub async fn approve(
        &self,
        catalog: &CatalogName,
        id: i64,
        accept_breaking: bool,
        why: &str,
        actor: &str,
    ) -> Result<Version, AppError> {
        let why = reason(why)?;
        let draft = self.pending_draft(catalog, id).await?;
        let numbers = self.store.version_numbers(catalog).await?;
        let newest = numbers.first().copied();
        if newest != draft.base {
            return Err(stale_draft(&draft, newest));
        }
        let policy = self.known_catalog(catalog).await?.policy;
        if policy.options() != draft.report.options() {
            return Err(judged_otherwise(&draft, &policy));
        }
        passes(&policy, &draft, accept_breaking)?;
        let now = self.now();
        // A version that was imported from a later day must not be overtaken by one with a lower number.
        let day = newest.map_or(now.date_naive(), |v| v.date().max(now.date_naive()));
        let version = Version {
            catalog: catalog.clone(),
            version: CatalogVersion::next(day, numbers),
            digest: draft.digest.clone(),
            content: draft.content.clone(),
            draft: Some(id),
            approved_by: actor.to_owned(),
            reason: why,
            approved_at: now,
        };
        let data = json!({
            "draft": id, "version": version.version, "digest": version.digest, "reason": version.reason,
            "verdict": draft.report.verdict, "requiredBump": draft.report.required_bump,
            "acceptedBreaking": accept_breaking,
        });
        let event = self.event(actor, "draft.approved", format!("catalog/{catalog}"), data);
        match self.store.approve(id, draft.base, &version, event).await {
            Ok(()) => Ok(version),
            Err(StoreError::DraftChanged | StoreError::VersionExists) => {
                // Somebody was faster; say what there is now.
                let draft = self.pending_draft(catalog, id).await?;
                let newest = self.store.version_numbers(catalog).await?.first().copied();
                Err(stale_draft(&draft, newest))
            }
            Err(e) => Err(e.into()),
        }
    }

    /// Refuses a pending draft, for good.
    ///
    /// # Errors
    /// Where the draft is not pending.
    pub async fn reject(
        &self,
        catalog: &CatalogName,
        id: i64,
        why: &str,
        actor: &str,
    ) -> Result<Draft, AppError> {
        let why = reason(why)?;
        let draft = self.pending_draft(catalog, id).await?;
        let data = json!({ "draft": id, "reason": why, "verdict": draft.report.verdict });
        let event = self.event(actor, "draft.rejected", format!("catalog/{catalog}"), data);
        let decision = Decision { actor: actor.to_owned(), at: event.at, reason: why };
        match self.store.close_draft(id, DraftStatus::Rejected, &decision, event).await {
            Err(StoreError::DraftChanged) => {
                self.pending_draft(catalog, id).await?;
            }
            done => done?,
        }
        self.get_draft(catalog, id).await
    }

    /// Forms the draft that a catalog's servers ask for, if they ask for one.
    pub(super) async fn form_draft(&self, catalog: &Catalog, actor: &str) -> Result<Formed, AppError> {
        let releases = self.releases(catalog).await?;
        let base = self.store.latest_version(&catalog.name).await?;
        let baseline = self.baseline(base.as_ref()).await?;
        let label = releases.iter().map(|r| format!("{}@{}", r.pin.server, r.pin.snapshot.short()));
        let label = label.collect::<Vec<_>>().join(", ");
        let report = compared(baseline, sides::candidate(label, &releases), catalog.policy.options()).await?;
        let older = match &base {
            Some(base) if draft::has_newcomers(base, &releases) => self.store.versions(&catalog.name).await?,
            Some(_) | None => Vec::new(),
        };
        let content = draft::content(base.as_ref(), &older, &releases, &report);
        let last = self.store.latest_draft(&catalog.name).await?;
        if base.as_ref().is_some_and(|b| b.content.same_contracts(&content)) && report.tools.is_empty() {
            if let Some(pending) = last.filter(|d| d.status == DraftStatus::Pending) {
                self.supersede(&pending, actor).await?;
            }
            return Ok(Formed::Nothing);
        }
        let new = NewDraft {
            catalog: catalog.name.clone(),
            base: base.map(|b| b.version),
            content,
            report,
            created_by: actor.to_owned(),
            created_at: self.now(),
        };
        let last = last.filter(|d| {
            d.base == new.base
                && d.digest == new.content.digest()
                && d.report.options() == new.report.options()
                && d.report.tools == new.report.tools
        });
        match last {
            Some(draft) if draft.status == DraftStatus::Pending => Ok(Formed::Pending(Box::new(draft))),
            Some(draft) if draft.status == DraftStatus::Rejected => Ok(Formed::Rejected(Box::new(new))),
            Some(_) | None => Ok(Formed::New(Box::new(self.open_draft(new, actor).await?))),
        }
    }

    async fn open_draft(&self, new: NewDraft, actor: &str) -> Result<Draft, AppError> {
        let catalog = new.catalog.clone();
        let data = json!({
            "base": new.base, "digest": new.content.digest(), "verdict": new.report.verdict,
            "requiredBump": new.report.required_bump, "changedTools": new.report.tools.len(),
        });
        let event = self.event(actor, "draft.created", format!("catalog/{catalog}"), data);
        match self.store.open_draft(new, event).await {
            Err(StoreError::DraftChanged) => {
                let message = format!(
                    "catalog `{catalog}` got a new version, or one of its servers a newer snapshot, while its draft was made"
                );
                Err(AppError::new(Kind::Conflict, "stale-draft", message).help("draft again"))
            }
            done => Ok(done?),
        }
    }

    /// The servers are back at what is approved, so there is nothing left to review.
    async fn supersede(&self, draft: &Draft, actor: &str) -> Result<(), AppError> {
        let event = self.event(
            actor,
            "draft.superseded",
            format!("catalog/{}", draft.catalog),
            json!({ "draft": draft.id }),
        );
        let reason = "the servers offer the newest version again".to_owned();
        let decision = Decision { actor: actor.to_owned(), at: event.at, reason };
        match self.store.close_draft(draft.id, DraftStatus::Superseded, &decision, event).await {
            Err(StoreError::DraftChanged) => Ok(()), // decided meanwhile
            done => Ok(done?),
        }
    }

    async fn catalog_with(
        &self,
        name: &CatalogName,
        servers: &[ServerName],
        actor: &str,
    ) -> Result<Catalog, AppError> {
        let before = self.store.catalog(name).await?;
        if before.is_none() && servers.is_empty() {
            return self.known_catalog(name).await;
        }
        let mut catalog = before.clone().unwrap_or_else(|| Catalog {
            name: name.clone(),
            policy: Policy::default(),
            servers: Vec::new(),
        });
        for server in servers {
            if !catalog.servers.iter().any(|(known, _)| known == server) {
                catalog.servers.push((server.clone(), None));
            }
        }
        if before.as_ref() != Some(&catalog) {
            // Before anything is written: a name that nothing was recorded of is a slip of the hand.
            self.releases(&catalog).await?;
            let data = settings(&catalog);
            let event = self.event(actor, "catalog.applied", format!("catalog/{name}"), data);
            self.store.apply(&catalog, None, vec![event]).await?;
        }
        Ok(catalog)
    }

    /// What each server of a catalog offers now. All have to be known: a server without a snapshot would read as one
    /// without tools.
    async fn releases(&self, catalog: &Catalog) -> Result<Vec<Release>, AppError> {
        let mut releases = Vec::new();
        for (server, _) in &catalog.servers {
            let Some(digest) = self.store.last_ok(server).await?.and_then(|row| row.digest) else {
                return Err(self.no_snapshot(server).await?);
            };
            let (snapshot, contracts) = self.contracts(server, &digest).await?;
            let pin = ServerPin { server: server.clone(), snapshot: digest, provenance: snapshot.provenance };
            releases.push(Release { pin, contracts });
        }
        if releases.is_empty() {
            let message =
                format!("catalog `{}` holds no server, so there is nothing to draft from", catalog.name);
            return Err(AppError::new(Kind::Invalid, "no-servers", message)
                .help("name servers, or list them under `servers` in the catalog's document"));
        }
        Ok(releases)
    }

    async fn no_snapshot(&self, server: &ServerName) -> Result<AppError, AppError> {
        if self.store.listings(server, 1).await?.is_empty() {
            let unknown = self.unknown_server(server).await?;
            return Ok(
                unknown.help(format!("take a snapshot of it first: `toolpact snapshot {server} -- COMMAND`"))
            );
        }
        let message = format!("server `{server}` has no snapshot: none of its listings ended `ok`");
        Ok(AppError::new(Kind::Conflict, "no-snapshot", message).help("snapshot it again when it answers"))
    }

    /// What callers rely on now; nothing, where nothing is approved yet.
    async fn baseline(&self, base: Option<&Version>) -> Result<Side, AppError> {
        match base {
            None => Ok(Side { label: "nothing".to_owned(), servers: Vec::new() }),
            Some(base) => {
                let label = format!("{}@{}", base.catalog, base.version);
                self.version_side(&label, base, Unpinned::LeaveOut).await
            }
        }
    }

    async fn pending_draft(&self, catalog: &CatalogName, id: i64) -> Result<Draft, AppError> {
        let draft = self.get_draft(catalog, id).await?;
        if draft.status == DraftStatus::Pending {
            return Ok(draft);
        }
        let by = draft.decided_by.as_deref().unwrap_or("someone");
        let at = draft.decided_at.map(|at| format!(" on {}", super::shown(at))).unwrap_or_default();
        let message = format!("draft `d-{id}` is {} already, by {by}{at}", draft.status.as_str());
        Err(AppError::new(Kind::Conflict, "draft-decided", message).help("a decision is final; draft again"))
    }
}

/// Whether a policy lets a draft become a version.
fn passes(policy: &Policy, draft: &Draft, accept_breaking: bool) -> Result<(), AppError> {
    let id = draft.id;
    if let Some((tool, finding)) = draft.report.findings().find(|(_, f)| f.absolute) {
        let message = format!("draft `d-{id}` cannot be approved: tool `{}`: {}", tool.tool, finding.message);
        return Err(AppError::new(Kind::Blocked, "absolute-finding", message)
            .help("this is never accepted; the server has to be mended and listed again"));
    }
    match policy.blocks(&draft.report) {
        Some((tool, finding)) if !accept_breaking => {
            let message = format!(
                "draft `d-{id}` is blocked by the catalog's policy: {}: tool `{}`: {}",
                finding.level, tool.tool, finding.message
            );
            Err(AppError::new(Kind::Blocked, "policy-blocks", message)
                .help("accept the findings with a reason, or reject the draft"))
        }
        Some(_) | None => Ok(()),
    }
}

/// The policy took callers to send something else when the draft was judged, so its report says nothing under this one.
fn judged_otherwise(draft: &Draft, policy: &Policy) -> AppError {
    let message = format!(
        "draft `d-{}` was judged under the assumption `{}` with formats `{}`, the policy of catalog `{}` says `{}` \
         and `{}` now",
        draft.id, draft.report.assumption, draft.report.formats, draft.catalog, policy.assume, policy.formats
    );
    AppError::new(Kind::Conflict, "stale-draft", message)
        .help("draft again, and review what differs from that")
}

fn stale_draft(draft: &Draft, newest: Option<CatalogVersion>) -> AppError {
    let on = |v: Option<CatalogVersion>| v.map_or_else(|| "nothing".to_owned(), |v| v.to_string());
    let message = format!(
        "draft `d-{}` was made on {}, the newest version of catalog `{}` is {}",
        draft.id,
        on(draft.base),
        draft.catalog,
        on(newest)
    );
    AppError::new(Kind::Conflict, "stale-draft", message)
        .help("draft again, and review what differs from that")
}
