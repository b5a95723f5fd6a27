//! How a draft ends: approved by enough people, or rejected.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{busy, moved_draft};
use crate::{
    app::{App, AppError, Kind, TRIES, reason, view::Approved},
    catalog::{
        Catalog, CatalogVersion, Content, Draft, DraftStatus, Policy, Version,
        policy::Against,
        review::{Approval, Blocker, Cause, Decision, Decisions, Judging, Ruling, told},
    },
    json::Digest,
    name::CatalogName,
    store::{Basis, Closing, Ending, NewApproval, StoreError},
};

impl App {
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
        // A version may go to every environment.
        self.permit_decision(catalog, None).await?;
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
            // Of one that is decided there is nothing to read again.
            self.pending_draft(name, id).await?;
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
        let announced = self.announced_before(policy, &draft).await?;
        let judging =
            Judging { policy, decisions: &decisions, announced: &announced, environment: None, now };
        let open = judging.blockers(draft.reports());
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
        let approval = approval_of(&draft, why, actor, now);
        let mut approvals = self.standing_approvals(&draft).await?;
        let again = approvals.iter().any(|a| a.actor == actor);
        if !again {
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
        if again && version.is_none() {
            // It was said before, and nothing comes of saying it twice.
            return Ok(Some(Approved { draft: id, approvals, needed, version }));
        }
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
            "verdict": draft.report.verdict, "ruleSet": draft.report.rule_set, "requiredBump": draft.report.required_bump,
            "decisions": judging.used(draft.reports()), "announced": judging.let_go(draft.reports()),
            "before": draft.base, "acceptedBreaking": !accepted.is_empty(),
            "approvers": approvals.iter().map(|a| &a.actor).collect::<Vec<_>>(),
        });
        let seal = version.as_ref().and_then(|version| self.seal_version(version));
        events.push(self.event(actor, kind, format!("catalog/{name}"), data).sealed(seal));
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
        let mut approvals = self.standing_approvals(draft).await?;
        let version = match draft.version {
            Some(number) => Some(self.version(&draft.catalog, number).await?),
            None => None,
        };
        if approvals.iter().any(|a| a.actor == actor) {
            return Ok(Some(Approved { draft: draft.id, approvals, needed, version }));
        }
        let approval = approval_of(draft, why, actor, self.now());
        let data = json!({
            "draft": draft.id, "version": draft.version, "digest": draft.digest, "reason": why,
            "verdict": draft.report.verdict, "ruleSet": draft.report.rule_set,
            "approvers": approvals.iter().map(|a| a.actor.as_str()).chain([actor]).collect::<Vec<_>>(),
        });
        let event = self.event(actor, "draft.endorsed", format!("catalog/{}", draft.catalog), data);
        let new = NewApproval { approval: approval.clone(), accepted: Vec::new(), version: None, basis };
        match self.store.approve(new, vec![event]).await {
            Ok(()) => {}
            Err(StoreError::Shifted | StoreError::DraftChanged) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
        approvals.push(approval);
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
        self.permit_decision(catalog, None).await?;
        let draft = self.pending_draft(catalog, id).await?;
        let seen = seen.cloned().unwrap_or_else(|| draft.digest.clone());
        if seen != draft.digest {
            return Err(moved_draft(&draft, &seen));
        }
        let data = json!({
            "draft": id, "digest": draft.digest, "reason": why, "verdict": draft.report.verdict,
            "ruleSet": draft.report.rule_set,
        });
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
}

/// An approval of what a draft holds.
fn approval_of(draft: &Draft, why: &str, actor: &str, at: DateTime<Utc>) -> Approval {
    let (digest, reason) = (draft.digest.clone(), why.to_owned());
    Approval { draft: draft.id, digest, actor: actor.to_owned(), reason, at }
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
pub(in crate::app) fn within_budget(policy: &Policy, content: &Content, what: &str) -> Result<(), AppError> {
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
