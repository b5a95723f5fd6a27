//! Reviews: decisions on changes, approvals, remarks and edits, and how a draft ends.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use json_patch::PatchOperation;
use serde_json::{Value, json};

use super::{
    App, AppError, Kind,
    drafts::Judged,
    owner, reason,
    view::{Approved, ReviewPage, Standing},
};
use crate::{
    catalog::{
        Catalog, CatalogVersion, Content, Draft, DraftStatus, Policy, Version,
        draft::Release,
        policy::Against,
        review::{Approval, Blocker, Cause, Comment, Decision, Decisions, Ruling, blockers, told},
    },
    diff::{Finding, ToolReport},
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
    store::{Basis, Closing, Ending, EventQuery, NewApproval, NewEdit, StoreError},
};

/// A remark longer than this is a document of its own.
const MAX_COMMENT: usize = 10_000;
/// The most changes that one request names one by one.
const MAX_CHANGES: usize = 1_000;
/// What a patch may add to twice of what a draft holds, in bytes.
const MAX_PATCHED: usize = 64 << 10;
/// How deep a patch may nest. What a server says of itself, which stands in a draft, is nested no deeper than half of it.
const MAX_NESTED: usize = 256;
/// What was read is judged again where somebody wrote meanwhile; more often than this only where many write at once.
const TRIES: usize = 5;

/// What is asked to be decided of changes.
#[derive(Debug, Clone)]
pub struct DecideRequest {
    /// In which catalog.
    pub catalog: CatalogName,
    /// Which changes.
    pub changes: Changes,
    /// What is decided.
    pub ruling: Ruling,
    /// The only environment that it counts for.
    pub environment: Option<EnvironmentName>,
    /// Why.
    pub reason: String,
    /// Who answers for it, of a waiver; whoever decides, where nobody is named.
    pub owner: Option<String>,
    /// When it ends, which makes it a waiver.
    pub expires: Option<DateTime<Utc>>,
    /// Who decides.
    pub actor: String,
}

/// Changes, as a person names them.
#[derive(Debug, Clone)]
pub enum Changes {
    /// One by one: whole fingerprints, or their first hex digits where the draft or environment tells them apart.
    Fingerprints(Vec<String>),
    /// All of a draft that one rule found.
    Rule {
        /// The draft.
        draft: i64,
        /// The rule.
        rule: String,
    },
}

impl App {
    /// Decides on changes, all or none. Decisions stick to the changes: where the same change comes again it is decided
    /// already. A later decision takes the place of an earlier one.
    ///
    /// # Errors
    /// Where a change or the environment is not known, a change is never accepted, or a waiver would end before it begins.
    pub async fn decide(&self, request: &DecideRequest) -> Result<Vec<Decision>, AppError> {
        let why = reason(&request.reason)?;
        let catalog = self.known_catalog(&request.catalog).await?;
        let now = self.now();
        if let Some(end) = request.expires
            && (request.ruling != Ruling::Accept || end <= now)
        {
            let message = if end <= now {
                format!("the waiver would end on {}, which is not in the future", super::shown(end))
            } else {
                format!("only an acceptance can end by itself, not `{}`", request.ruling.as_str())
            };
            return Err(AppError::new(Kind::Invalid, "bad-expiry", message).help("give a later end, or none"));
        }
        if request.owner.is_some() && request.expires.is_none() {
            let message = "an owner is named for a decision that never ends";
            return Err(AppError::new(Kind::Invalid, "owner-without-expiry", message)
                .help("say until when it is waived, or leave the owner out"));
        }
        let owned = request.owner.as_deref().map(owner).transpose()?;
        if let Some(environment) = &request.environment {
            self.known_environment(environment).await?;
        }
        let changes = self.named_changes(&catalog, &request.changes).await?;
        let decisions: Vec<Decision> = changes
            .iter()
            .map(|change| Decision {
                id: 0, // given by the store
                catalog: catalog.name.clone(),
                fingerprint: change.fingerprint.clone(),
                environment: request.environment.clone(),
                ruling: request.ruling,
                reason: why.clone(),
                owner: request.expires.map(|_| owned.clone().unwrap_or_else(|| request.actor.clone())),
                expires: request.expires,
                change: change.told.clone(),
                actor: request.actor.clone(),
                at: now,
            })
            .collect();
        if request.ruling == Ruling::Accept
            && let Some(change) = changes.iter().find(|c| c.absolute)
        {
            return Err(AppError::new(
                Kind::Blocked,
                "absolute-finding",
                format!("this is never accepted: {}", change.told),
            )
            .help("the server has to be mended and listed again"));
        }
        let event = self.decided(&catalog.name, &request.actor, &decisions);
        Ok(self.store.decide(decisions, event).await?)
    }

    /// Everything that was decided on changes of a catalog, newest first; those that count no more as well.
    ///
    /// # Errors
    /// Where the catalog does not exist.
    pub async fn decisions(&self, catalog: &CatalogName) -> Result<Vec<Decision>, AppError> {
        self.known_catalog(catalog).await?;
        let mut all = self.store.decisions(catalog).await?;
        all.reverse();
        Ok(all)
    }

    /// The waivers of all catalogs, those that end first before the others; those that have ended stand in the way again.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn waivers(&self) -> Result<Vec<Decision>, AppError> {
        let mut waivers = Vec::new();
        for catalog in self.store.catalogs().await? {
            let decisions: Decisions = self.store.decisions(&catalog.name).await?.into_iter().collect();
            waivers.extend(decisions.current().filter(|d| d.expires.is_some()).cloned());
        }
        waivers.sort_by_key(|d| (d.expires, d.id));
        Ok(waivers)
    }

    /// Approves a pending draft. Where enough people did, it becomes a version. Every change that blocks has to be
    /// accepted: by a decision or a waiver, or, with `accept_breaking`, here and now for this reason. Absolute findings and
    /// rejected changes cannot be accepted so.
    ///
    /// # Errors
    /// Where the draft is not pending, its base is not the newest version any more, the policy blocks it, or its author
    /// approves where others have to.
    pub async fn approve(
        &self,
        catalog: &CatalogName,
        id: i64,
        accept_breaking: bool,
        why: &str,
        actor: &str,
    ) -> Result<Approved, AppError> {
        self.approve_seen(catalog, id, None, accept_breaking, why, actor).await
    }

    /// The same, of what the approver saw: refused where the draft holds something else by now.
    ///
    /// # Errors
    /// As for [`Self::approve`].
    pub async fn approve_seen(
        &self,
        catalog: &CatalogName,
        id: i64,
        seen: Option<&Digest>,
        accept_breaking: bool,
        why: &str,
        actor: &str,
    ) -> Result<Approved, AppError> {
        let why = reason(why)?;
        // What was there when it was asked for, and nothing that came while it was judged.
        let seen = match seen {
            Some(seen) => seen.clone(),
            None => self.get_draft(catalog, id).await?.digest,
        };
        for _ in 0..TRIES {
            match self.try_approve(catalog, id, &seen, accept_breaking, &why, actor).await? {
                Some(approved) => return Ok(approved),
                None => continue,
            }
        }
        Err(busy(catalog))
    }

    /// Nothing, where somebody wrote meanwhile and it has to be judged again.
    async fn try_approve(
        &self,
        name: &CatalogName,
        id: i64,
        seen: &Digest,
        accept_breaking: bool,
        why: &str,
        actor: &str,
    ) -> Result<Option<Approved>, AppError> {
        let mut basis = self.basis([format!("catalog/{name}")]).await?;
        let catalog = self.known_catalog(name).await?;
        let draft = self.get_draft(name, id).await?;
        if *seen != draft.digest {
            return Err(moved_draft(&draft, seen));
        }
        if draft.status == DraftStatus::Approved
            && let Some(needed) = self.approvals_wanted(&catalog, &draft).await?
        {
            return self.endorse(&draft, needed, why, actor, basis).await;
        }
        let draft = self.pending_draft(name, id).await?;
        let numbers = self.store.version_numbers(name).await?;
        let newest = numbers.first().copied();
        if newest != draft.base {
            return Err(stale_draft(&draft, newest));
        }
        let policy = &catalog.policy;
        if policy.options() != draft.report.options() {
            return Err(judged_otherwise(&draft, policy));
        }
        if policy.against == Against::EverLive {
            let pointers = self.store.pointers().await?.into_iter().filter(|p| p.catalog == *name);
            basis.subjects.extend(pointers.map(|p| format!("environment/{}", p.environment)));
        }
        self.still_judged(&catalog, &draft).await?;
        let needed = policy.approvals as usize;
        if needed > 0 && draft.is_author(actor) {
            return Err(own_draft(&draft, actor, needed));
        }
        within_budget(policy, &draft.content, &format!("draft `d-{id}`"))?;
        let decisions: Decisions = self.store.decisions(name).await?.into_iter().collect();
        let now = self.now();
        let open = blockers(policy, draft.reports(), &decisions, None, now);
        if let Some(first) = open.iter().find(|b| !(accept_breaking && may_be_accepted(&b.cause))) {
            return Err(blocked_draft(id, first, open.len()));
        }
        let accepted: Vec<Decision> = open
            .iter()
            .map(|blocker| Decision {
                id: 0,
                catalog: name.clone(),
                fingerprint: blocker.finding.fingerprint.clone(),
                environment: None,
                ruling: Ruling::Accept,
                reason: why.to_owned(),
                owner: None,
                expires: None,
                change: told(blocker.tool, blocker.finding),
                actor: actor.to_owned(),
                at: now,
            })
            .collect();
        let approval = Approval {
            draft: id,
            digest: draft.digest.clone(),
            actor: actor.to_owned(),
            reason: why.to_owned(),
            at: now,
        };
        let mut approvals = self.standing_approvals(&draft).await?;
        if !approvals.iter().any(|a| a.actor == actor) {
            approvals.push(approval.clone());
        }
        let enough = approvals.iter().filter(|a| !draft.is_author(&a.actor)).count() >= needed;
        let version = enough.then(|| {
            // A version that was imported from a later day must not be overtaken by one with a lower number.
            let day = newest.map_or(now.date_naive(), |v| v.date().max(now.date_naive()));
            Version {
                catalog: name.clone(),
                version: CatalogVersion::next(day, numbers),
                digest: draft.digest.clone(),
                content: draft.content.clone(),
                draft: Some(id),
                approved_by: actor.to_owned(),
                reason: why.to_owned(),
                approved_at: now,
            }
        });
        let mut events = Vec::new();
        if !accepted.is_empty() {
            events.push(self.decided(name, actor, &accepted));
        }
        let (kind, number) = match &version {
            Some(version) => ("draft.approved", Some(version.version)),
            None => ("draft.endorsed", None),
        };
        let data = json!({
            "draft": id, "version": number, "digest": draft.digest, "reason": why,
            "verdict": draft.report.verdict, "requiredBump": draft.report.required_bump,
            "acceptedBreaking": !accepted.is_empty(),
            "approvers": approvals.iter().map(|a| &a.actor).collect::<Vec<_>>(),
        });
        events.push(self.event(actor, kind, format!("catalog/{name}"), data));
        let new =
            NewApproval { approval, accepted, version: version.clone().map(|v| (v, draft.base)), basis };
        match self.store.approve(new, events).await {
            Ok(()) => {}
            Err(StoreError::Shifted | StoreError::DraftChanged | StoreError::VersionExists) => {
                return Ok(None);
            }
            Err(e) => return Err(e.into()),
        }
        if version.is_some() {
            self.form_next(&catalog, &draft).await;
        }
        Ok(Some(Approved { draft: id, approvals, needed, version }))
    }

    /// How many approvals environments ask for, where that is more than an approved draft has.
    async fn approvals_wanted(&self, catalog: &Catalog, draft: &Draft) -> Result<Option<usize>, AppError> {
        let wanted = catalog.environments.values().map(|demands| demands.over(&catalog.policy).approvals);
        let wanted = wanted.max().unwrap_or(0) as usize;
        let have =
            self.standing_approvals(draft).await?.iter().filter(|a| !draft.is_author(&a.actor)).count();
        Ok((have < wanted).then_some(wanted))
    }

    /// One more approval of what is a version already, for an environment that asks for more than the catalog does.
    async fn endorse(
        &self,
        draft: &Draft,
        needed: usize,
        why: &str,
        actor: &str,
        basis: Basis,
    ) -> Result<Option<Approved>, AppError> {
        if draft.is_author(actor) {
            return Err(own_draft(draft, actor, needed));
        }
        let approval = Approval {
            draft: draft.id,
            digest: draft.digest.clone(),
            actor: actor.to_owned(),
            reason: why.to_owned(),
            at: self.now(),
        };
        let mut approvals = self.standing_approvals(draft).await?;
        let version = match draft.version {
            Some(number) => Some(self.version(&draft.catalog, number).await?),
            None => None,
        };
        let data = json!({
            "draft": draft.id, "version": draft.version, "digest": draft.digest, "reason": why,
        });
        let event = self.event(actor, "draft.endorsed", format!("catalog/{}", draft.catalog), data);
        let new = NewApproval { approval: approval.clone(), accepted: Vec::new(), version: None, basis };
        match self.store.approve(new, vec![event]).await {
            Ok(()) => {}
            Err(StoreError::Shifted | StoreError::DraftChanged) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
        if !approvals.iter().any(|a| a.actor == actor) {
            approvals.push(approval);
        }
        Ok(Some(Approved { draft: draft.id, approvals, needed, version }))
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
        self.reject_seen(catalog, id, None, why, actor).await
    }

    /// The same, of what the reviewer saw: refused where the draft holds something else by now.
    ///
    /// # Errors
    /// As for [`Self::reject`].
    pub async fn reject_seen(
        &self,
        catalog: &CatalogName,
        id: i64,
        seen: Option<&Digest>,
        why: &str,
        actor: &str,
    ) -> Result<Draft, AppError> {
        let why = reason(why)?;
        let draft = self.pending_draft(catalog, id).await?;
        let seen = seen.cloned().unwrap_or_else(|| draft.digest.clone());
        if seen != draft.digest {
            return Err(moved_draft(&draft, &seen));
        }
        let data = json!({ "draft": id, "reason": why, "verdict": draft.report.verdict });
        let event = self.event(actor, "draft.rejected", format!("catalog/{catalog}"), data);
        let ending = Ending { actor: actor.to_owned(), at: event.at, reason: why };
        let (status, basis) = (DraftStatus::Rejected, Basis::default());
        let closing = Closing { draft: id, status, seen: seen.clone(), ending, basis };
        match self.store.close_draft(closing, event).await {
            Err(StoreError::DraftChanged) => {
                return Err(moved_draft(&self.pending_draft(catalog, id).await?, &seen));
            }
            done => done?,
        }
        self.form_next(&self.known_catalog(catalog).await?, &draft).await;
        self.get_draft(catalog, id).await
    }

    /// Says something of a draft, or of one change in it.
    ///
    /// # Errors
    /// Where the draft does not exist, has no such change, or the text is empty or too long.
    pub async fn comment(
        &self,
        catalog: &CatalogName,
        id: i64,
        fingerprint: Option<&Digest>,
        text: &str,
        actor: &str,
    ) -> Result<Comment, AppError> {
        let draft = self.get_draft(catalog, id).await?;
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_COMMENT {
            let message = format!("a comment of {} bytes; one has 1 to {MAX_COMMENT}", text.len());
            return Err(AppError::new(Kind::Invalid, "bad-comment", message));
        }
        if let Some(fingerprint) = fingerprint
            && !findings(&draft).any(|(_, f)| f.fingerprint == *fingerprint)
        {
            return Err(unknown_change(fingerprint.as_str(), &format!("draft `d-{id}`")));
        }
        let data = json!({ "draft": id, "change": fingerprint });
        let event = self.event(actor, "draft.commented", format!("catalog/{catalog}"), data);
        let comment = Comment {
            id: 0,
            draft: id,
            fingerprint: fingerprint.cloned(),
            text: text.to_owned(),
            actor: actor.to_owned(),
            at: event.at,
        };
        Ok(self.store.comment(comment, event).await?)
    }

    /// Edits a pending draft by a JSON Patch (RFC 6902) on its content. A member may be taken out, taken in again, marked
    /// as deprecated or experimental, or be given a higher contractVersion; what it is, and where it came from, is the
    /// servers' word. The draft is judged anew, and approvals of what it held before count no more.
    ///
    /// # Errors
    /// Where the draft is not pending, holds something else than `seen`, or the patch asks for more than that.
    pub async fn edit(
        &self,
        catalog: &CatalogName,
        id: i64,
        seen: Option<&Digest>,
        patch: &Value,
        actor: &str,
    ) -> Result<Draft, AppError> {
        let basis = self.basis([format!("catalog/{catalog}")]).await?;
        let settings = self.known_catalog(catalog).await?;
        let draft = self.pending_draft(catalog, id).await?;
        if let Some(seen) = seen
            && *seen != draft.digest
        {
            return Err(moved_draft(&draft, seen));
        }
        let edited = patched(&draft, patch)?;
        let base = match draft.base {
            Some(number) => Some(self.version(catalog, number).await?),
            None => None,
        };
        let offered = self.offered(&settings, &draft).await?;
        let whole = self.judged(&settings, base.as_ref(), &offered).await?.content;
        allowed(&edited, &whole)?;
        let held =
            self.releases_of(&Content { servers: draft.content.servers.clone(), ..edited.clone() }).await?;
        let Judged { content, report, earlier } = self.judged(&settings, base.as_ref(), &held).await?;
        let content = with_words(content, &edited);
        if content.digest() == draft.digest {
            let message = format!("the patch changes nothing in draft `d-{id}`");
            return Err(AppError::new(Kind::Conflict, "nothing-changed", message));
        }
        let data = json!({
            "draft": id, "before": draft.digest, "digest": content.digest(), "verdict": report.verdict,
            "tools": touched(&draft.content, &content),
        });
        let event = self.event(actor, "draft.edited", format!("catalog/{catalog}"), data);
        let (seen, editor) = (draft.digest.clone(), actor.to_owned());
        let edit = NewEdit { basis, draft: id, seen: seen.clone(), content, report, earlier, editor };
        match self.store.edit_draft(edit, event).await {
            Err(StoreError::DraftChanged) => Err(moved_draft(&self.pending_draft(catalog, id).await?, &seen)),
            Err(StoreError::Shifted) => Err(busy(catalog)),
            done => {
                done?;
                self.get_draft(catalog, id).await
            }
        }
    }

    /// A draft with everything that was decided and said of it.
    ///
    /// # Errors
    /// Where it does not exist.
    pub async fn review(&self, catalog: &CatalogName, id: i64) -> Result<ReviewPage, AppError> {
        let draft = self.get_draft(catalog, id).await?;
        let settings = self.known_catalog(catalog).await?;
        let decisions: Decisions = self.store.decisions(catalog).await?.into_iter().collect();
        let now = self.now();
        let open = blockers(&settings.policy, draft.reports(), &decisions, None, now);
        let mut seen = BTreeSet::new();
        let standing = findings(&draft)
            .filter(|(_, f)| seen.insert(f.fingerprint.clone()))
            .map(|(_, finding)| Standing {
                fingerprint: finding.fingerprint.clone(),
                blocks: open
                    .iter()
                    .find(|b| b.finding.fingerprint == finding.fingerprint)
                    .map(|b| b.cause.as_str()),
                decision: decisions.of(&finding.fingerprint, None, now).cloned(),
            })
            .collect();
        let queue = match draft.status {
            DraftStatus::Pending => self.queue(&settings, &draft).await?,
            DraftStatus::Approved | DraftStatus::Rejected | DraftStatus::Superseded => Vec::new(),
        };
        let approvals = self.standing_approvals(&draft).await?;
        let comments = self.store.comments(id).await?;
        let needed = settings.policy.approvals as usize;
        Ok(ReviewPage { approvals, needed, comments, standing, queue, draft })
    }

    /// The servers that offer something else than a draft pins by now, or that the catalog holds since it was made.
    async fn queue(&self, catalog: &Catalog, draft: &Draft) -> Result<Vec<(ServerName, Digest)>, AppError> {
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
    async fn form_next(&self, catalog: &Catalog, decided: &Draft) {
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

    /// Whether what a draft was judged on is what its catalog asks for now: the tools that are selected, and what was
    /// before, where the policy looks further back.
    async fn still_judged(&self, catalog: &Catalog, draft: &Draft) -> Result<(), AppError> {
        let stale = |why: String| {
            let message = format!("draft `d-{}` {why}", draft.id);
            AppError::new(Kind::Conflict, "stale-draft", message)
                .help("draft again, and review what differs from that")
        };
        for member in &draft.content.members {
            let Some(server) = &member.server else { continue };
            let holds = catalog.servers.iter().find(|s| s.name == *server);
            if !holds.is_some_and(|s| s.tools.matcher().holds(&member.tool)) {
                let (tool, catalog) = (&member.tool, &catalog.name);
                return Err(stale(format!(
                    "holds tool `{tool}` of `{server}`, which catalog `{catalog}` selects no more"
                )));
            }
        }
        if catalog.policy.against == Against::Latest && draft.earlier.is_empty() {
            return Ok(());
        }
        let base = match draft.base {
            Some(number) => Some(self.version(&draft.catalog, number).await?),
            None => None,
        };
        let releases = self.releases_of(&draft.content).await?;
        let now = self.judged(catalog, base.as_ref(), &releases).await?;
        if now.earlier != draft.earlier {
            return Err(stale("was held against other versions than somebody may rely on now".to_owned()));
        }
        Ok(())
    }

    /// The approvals of what a draft holds now, one a person.
    async fn standing_approvals(&self, draft: &Draft) -> Result<Vec<Approval>, AppError> {
        let mut all = self.store.approvals(draft.id).await?;
        all.retain(|a| a.digest == draft.digest);
        Ok(all)
    }

    /// The releases of a draft with all tools that the catalog selects, also those that an edit took out.
    async fn offered(&self, catalog: &Catalog, draft: &Draft) -> Result<Vec<Release>, AppError> {
        let mut releases = Vec::new();
        for pin in &draft.content.servers {
            let (_, mut contracts) = self.contracts(&pin.server, &pin.snapshot).await?;
            if let Some(server) = catalog.servers.iter().find(|s| s.name == pin.server) {
                let selected = server.tools.matcher();
                contracts.retain(|c| selected.holds(&c.name));
            }
            releases.push(Release { pin: pin.clone(), contracts });
        }
        Ok(releases)
    }

    async fn named_changes(&self, catalog: &Catalog, changes: &Changes) -> Result<Vec<Named>, AppError> {
        match changes {
            Changes::Rule { draft, rule } => {
                let draft = self.get_draft(&catalog.name, *draft).await?;
                let named: Vec<Named> =
                    unique(findings(&draft).filter(|(_, f)| f.rule == *rule).map(Named::of));
                if named.is_empty() {
                    let mut known: Vec<String> = findings(&draft).map(|(_, f)| f.rule.clone()).collect();
                    known.sort();
                    known.dedup();
                    return Err(AppError::unknown("rule", "unknown-rule", rule, &known));
                }
                Ok(named)
            }
            Changes::Fingerprints(texts) => {
                if texts.is_empty() {
                    let message = "no change is named";
                    return Err(AppError::new(Kind::Invalid, "no-change", message)
                        .help("name changes by their fingerprints, or by a draft and a rule"));
                }
                if texts.len() > MAX_CHANGES {
                    let message =
                        format!("{} changes are named; one request decides on {MAX_CHANGES}", texts.len());
                    return Err(AppError::new(Kind::Invalid, "too-many-changes", message)
                        .help("name fewer at once, or all of a rule by a draft and the rule"));
                }
                let mut known = self.near_changes(catalog).await?;
                let mut named = Vec::new();
                for text in texts {
                    let change = match known.one_of(text, &catalog.name) {
                        Err(e) if e.kind == Kind::NotFound && !known.all => {
                            self.far_changes(catalog, &mut known).await?;
                            known.one_of(text, &catalog.name)
                        }
                        found => found,
                    };
                    named.push(change?);
                }
                Ok(unique(named.into_iter()))
            }
        }
    }

    /// The changes that cost nothing to find: of the newest draft, and those that were accepted before.
    async fn near_changes(&self, catalog: &Catalog) -> Result<Known, AppError> {
        let mut known = Known::default();
        if let Some(draft) = self.store.latest_draft(&catalog.name).await? {
            known.extend(findings(&draft).map(Named::of));
        }
        // What was only refused so far may be something that is never accepted.
        let decisions = self.store.decisions(&catalog.name).await?.into_iter();
        known.extend(decisions.filter(|d| d.ruling == Ruling::Accept).map(Named::before));
        Ok(known)
    }

    /// The others that can be decided on: of what an approved version would bring to an environment, for which many are
    /// compared, and whatever was decided before.
    async fn far_changes(&self, catalog: &Catalog, known: &mut Known) -> Result<(), AppError> {
        for report in self.promotable_reports(catalog).await? {
            known.extend(report.findings().map(Named::of));
        }
        known.extend(self.store.decisions(&catalog.name).await?.into_iter().map(Named::before));
        known.all = true;
        Ok(())
    }

    fn decided(
        &self,
        catalog: &CatalogName,
        actor: &str,
        decisions: &[Decision],
    ) -> crate::catalog::event::NewEvent {
        let first = decisions.first();
        let changes: Vec<Value> =
            decisions.iter().map(|d| json!({ "fingerprint": d.fingerprint, "change": d.change })).collect();
        let data = json!({
            "ruling": first.map(|d| d.ruling), "reason": first.map(|d| &d.reason),
            "environment": first.and_then(|d| d.environment.as_ref()),
            "owner": first.and_then(|d| d.owner.as_ref()), "expires": first.and_then(|d| d.expires),
            "changes": changes,
        });
        self.event(actor, "change.decided", format!("catalog/{catalog}"), data)
    }

    pub(super) async fn pending_draft(&self, catalog: &CatalogName, id: i64) -> Result<Draft, AppError> {
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

/// A change, ready to be decided on.
#[derive(Debug, Clone)]
struct Named {
    fingerprint: Digest,
    told: String,
    absolute: bool,
}

impl Named {
    fn of((tool, finding): (&ToolReport, &Finding)) -> Self {
        Self {
            fingerprint: finding.fingerprint.clone(),
            told: told(tool, finding),
            absolute: finding.absolute,
        }
    }

    fn before(Decision { fingerprint, change, .. }: Decision) -> Self {
        Self { fingerprint, told: change, absolute: false }
    }
}

fn unique(named: impl Iterator<Item = Named>) -> Vec<Named> {
    let mut seen = BTreeSet::new();
    named.filter(|n| seen.insert(n.fingerprint.clone())).collect()
}

fn findings(draft: &Draft) -> impl Iterator<Item = (&ToolReport, &Finding)> {
    draft.reports().flat_map(crate::diff::Report::findings)
}

/// Changes by the digits of their fingerprints. Of one that is found twice the first counts.
#[derive(Default)]
struct Known {
    by_hex: BTreeMap<String, Named>,
    /// Whether there are no others.
    all: bool,
}

impl Known {
    fn extend(&mut self, named: impl Iterator<Item = Named>) {
        for change in named {
            self.by_hex.entry(change.fingerprint.hex().to_owned()).or_insert(change);
        }
    }

    /// The change that a fingerprint, or its first digits, names.
    fn one_of(&self, text: &str, catalog: &CatalogName) -> Result<Named, AppError> {
        const SHORTEST: usize = 6;
        let hex = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
        if hex.len() < SHORTEST || hex.len() > 64 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            let message =
                format!("`{text}` is no fingerprint of a change, nor its first {SHORTEST} or more digits");
            return Err(AppError::new(Kind::Invalid, "bad-fingerprint", message)
                .help("a draft shows the fingerprint of each of its changes"));
        }
        let mut found = self.by_hex.range(hex.clone()..).take_while(|(known, _)| known.starts_with(&hex));
        match (found.next(), found.next()) {
            (Some((_, only)), None) => Ok(only.clone()),
            (Some(_), Some(_)) => {
                let message = format!("`{text}` fits several changes of catalog `{catalog}`");
                Err(AppError::new(Kind::Invalid, "ambiguous-fingerprint", message).help("write more of it"))
            }
            (None, _) => Err(unknown_change(text, &format!("catalog `{catalog}`"))),
        }
    }
}

fn unknown_change(text: &str, of: &str) -> AppError {
    AppError::new(Kind::NotFound, "unknown-change", format!("{of} has no change `{text}`"))
        .help("a draft, and the check of a promotion, show the fingerprint of each change")
}

fn may_be_accepted(cause: &Cause) -> bool {
    match cause {
        Cause::Open | Cause::Expired(_) => true,
        Cause::Absolute | Cause::Rejected(_) => false,
    }
}

/// The refusal of a draft by the first of the changes that stand in the way.
fn blocked_draft(id: i64, first: &Blocker<'_>, count: usize) -> AppError {
    let rest = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
    let (code, message, help) = match &first.cause {
        Cause::Absolute => (
            "absolute-finding",
            format!(
                "draft `d-{id}` cannot be approved: tool `{}`: {}",
                first.tool.tool, first.finding.message
            ),
            "this is never accepted; the server has to be mended and listed again",
        ),
        Cause::Rejected(_) => (
            "change-rejected",
            format!("draft `d-{id}` holds a change that was rejected: {}{rest}", first.told()),
            "reject the draft, edit the tool out of it, or decide again on the change",
        ),
        Cause::Open | Cause::Expired(_) => (
            "policy-blocks",
            format!("draft `d-{id}` is blocked by the catalog's policy: {}{rest}", first.told()),
            "accept the findings with a reason, or reject the draft",
        ),
    };
    AppError::new(Kind::Blocked, code, message).help(help)
}

/// Whether a content holds no more tools than a policy allows.
pub(super) fn within_budget(policy: &Policy, content: &Content, what: &str) -> Result<(), AppError> {
    match policy.max_tools {
        Some(most) if content.members.len() > most as usize => {
            let message = format!("{what} holds {} tools, the policy allows {most}", content.members.len());
            Err(AppError::new(Kind::Blocked, "too-many-tools", message)
                .help("select fewer of the servers' tools, or take some out of the draft"))
        }
        Some(_) | None => Ok(()),
    }
}

fn own_draft(draft: &Draft, actor: &str, needed: usize) -> AppError {
    let part = if draft.created_by == actor { "made" } else { "edited" };
    let people =
        if needed == 1 { "one other person has".to_owned() } else { format!("{needed} other people have") };
    let message = format!(
        "draft `d-{}` was {part} by {actor}; by the policy of catalog `{}` {people} to approve it",
        draft.id, draft.catalog
    );
    AppError::new(Kind::Blocked, "own-draft", message).help("ask somebody who had no part in it")
}

fn busy(catalog: &CatalogName) -> AppError {
    let message =
        format!("others write to catalog `{catalog}` all the time, so nothing could be judged as it stands");
    AppError::new(Kind::Conflict, "busy", message).help("try again; nothing was written")
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

fn moved_draft(draft: &Draft, seen: &Digest) -> AppError {
    let message =
        format!("draft `d-{}` holds {} by now, not {}", draft.id, draft.digest.short(), seen.short());
    AppError::new(Kind::Stale, "draft-edited", message).help("read the draft again, then repeat it on that")
}

/// The content of a draft after a patch.
fn patched(draft: &Draft, patch: &Value) -> Result<Content, AppError> {
    let invalid = |cause: String| {
        AppError::new(Kind::Invalid, "bad-patch", format!("the patch of draft `d-{}` {cause}", draft.id))
            .help("it is an RFC 6902 patch on the draft's content: `members`, each with `tool`, `status`, `contractVersion`")
    };
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|e| invalid(format!("is no JSON Patch: {e}")))?;
    let mut document =
        serde_json::to_value(&draft.content).map_err(|e| invalid(format!("cannot begin: {e}")))?;
    let most = 2 * weight(&document, MAX_NESTED).unwrap_or_default() + MAX_PATCHED;
    for (at, operation) in patch.iter().enumerate() {
        json_patch::patch(&mut document, std::slice::from_ref(operation)).map_err(|mut e| {
            e.operation = at;
            invalid(format!("cannot be applied: {e}"))
        })?;
        // A few bytes of these two double or nest what is there, again and again.
        let grows = matches!(operation, PatchOperation::Copy(_) | PatchOperation::Move(_));
        if grows && weight(&document, MAX_NESTED).is_none_or(|weight| weight > most) {
            return Err(invalid(format!(
                "makes too much of it: operation {at} copies or nests beyond all use"
            )));
        }
    }
    let edited: Content = serde_json::from_value(document)
        .map_err(|e| invalid(format!("leaves no content of a draft: {e}")))?;
    if edited.digest_policy != draft.content.digest_policy || edited.servers != draft.content.servers {
        return Err(invalid("changes more than its members".to_owned()));
    }
    Ok(edited)
}

/// How much a value holds: its values, and the bytes of its texts. Nothing where it is nested deeper than this.
fn weight(value: &Value, deep: usize) -> Option<usize> {
    let deep = deep.checked_sub(1)?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(1),
        Value::String(text) => Some(1 + text.len()),
        Value::Array(items) => items.iter().try_fold(1, |sum, item| Some(sum + weight(item, deep)?)),
        Value::Object(members) => {
            members.iter().try_fold(1, |sum, (name, item)| Some(sum + name.len() + weight(item, deep)?))
        }
    }
}

/// The tools of which an edit changed something.
fn touched(before: &Content, after: &Content) -> Vec<String> {
    let all = before.members.iter().chain(&after.members);
    let mut names: Vec<String> = all
        .filter(|m| before.members.contains(m) != after.members.contains(m))
        .map(|m| m.server.as_ref().map_or(m.tool.clone(), |s| format!("{s}/{}", m.tool)))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Whether an edited content is what its servers offer, or less.
fn allowed(edited: &Content, whole: &Content) -> Result<(), AppError> {
    let refused = |tool: &str, cause: String| {
        AppError::new(Kind::Invalid, "bad-edit", format!("tool `{tool}` {cause}"))
            .help("members can be taken out or in, their `status` set and their `contractVersion` raised")
    };
    let mut seen = BTreeSet::new();
    for member in &edited.members {
        if !seen.insert((&member.server, &member.tool)) {
            return Err(refused(&member.tool, "stands in the draft twice".to_owned()));
        }
        let Some(offered) = whole.members.iter().find(|m| m.server == member.server && m.tool == member.tool)
        else {
            return Err(refused(&member.tool, "is not among those that the servers offer".to_owned()));
        };
        if offered.digests != member.digests {
            return Err(refused(
                &member.tool,
                "would get other digests than its server's release has".to_owned(),
            ));
        }
        if offered.compatibility != member.compatibility {
            return Err(refused(
                &member.tool,
                format!("is {}, and that is not a matter of opinion", offered.compatibility.as_str()),
            ));
        }
        if member.contract_version < offered.contract_version || !member.contract_version.leaves_room() {
            let needed = &offered.contract_version;
            return Err(refused(&member.tool, format!("needs contractVersion {needed} or a higher one")));
        }
    }
    Ok(())
}

/// A content with the words that an edit gave to its members.
fn with_words(mut content: Content, edited: &Content) -> Content {
    for member in &mut content.members {
        let said = edited.members.iter().find(|m| m.server == member.server && m.tool == member.tool);
        if let Some(said) = said {
            member.status = said.status;
            member.contract_version = said.contract_version.clone();
        }
    }
    content
}
