//! Reviews: decisions on changes, approvals, remarks and edits, and how a draft ends.

mod approve;
mod decide;
mod edit;
mod queue;

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::{
    App, AppError, Kind,
    access::{Object, Right},
    view::{ReviewPage, Standing},
};
use crate::{
    catalog::{
        Draft, DraftStatus,
        review::{Approval, Comment, Decisions, Judging},
    },
    diff::{Finding, Report, ToolReport},
    json::Digest,
    name::CatalogName,
};

pub use decide::{Changes, DecideRequest};

pub(super) use approve::within_budget;

/// A remark longer than this is a document of its own.
const MAX_COMMENT: usize = 10_000;

impl App {
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
        self.permit(Right::Draft, Object::catalog(catalog))?;
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
        let data = json!({
            "draft": id, "digest": draft.digest, "change": fingerprint, "text": Digest::of_bytes(text.as_bytes()),
        });
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

    /// A draft with everything that was decided and said of it.
    ///
    /// # Errors
    /// Where it does not exist.
    pub async fn review(&self, catalog: &CatalogName, id: i64) -> Result<ReviewPage, AppError> {
        let draft = self.get_draft(catalog, id).await?;
        let settings = self.known_catalog(catalog).await?;
        let decisions: Decisions = self.store.decisions(catalog).await?.into_iter().collect();
        let now = self.now();
        let announced = self.announced_before(&settings.policy, &draft).await?;
        let (policy, decisions) = (&settings.policy, &decisions);
        let judging = Judging { policy, decisions, announced: &announced, environment: None, now };
        let standing = standings(judging, draft.reports());
        let seen: HashSet<&Digest> = standing.iter().map(|s| &s.fingerprint).collect();
        let mut elsewhere: Vec<_> = decisions
            .current()
            .filter(|d| d.environment.is_some() && seen.contains(&d.fingerprint))
            .cloned()
            .collect();
        elsewhere.sort_by(|a, b| (&a.environment, a.id).cmp(&(&b.environment, b.id)));
        let queue = match draft.status {
            DraftStatus::Pending => self.queue(&settings, &draft).await?,
            DraftStatus::Approved | DraftStatus::Rejected | DraftStatus::Superseded => Vec::new(),
        };
        let approvals = self.standing_approvals(&draft).await?;
        let comments = self.store.comments(id).await?;
        let needed = settings.policy.approvals as usize;
        Ok(ReviewPage { approvals, needed, comments, standing, elsewhere, queue, draft })
    }

    /// The approvals of what a draft holds now, one a person.
    async fn standing_approvals(&self, draft: &Draft) -> Result<Vec<Approval>, AppError> {
        let mut all = self.store.approvals(draft.id).await?;
        all.retain(|a| a.digest == draft.digest);
        Ok(all)
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

/// How each change of these reports stands, each once.
pub(super) fn standings<'r>(
    judging: Judging<'_>,
    reports: impl Iterator<Item = &'r Report>,
) -> Vec<Standing> {
    let reports: Vec<&Report> = reports.collect();
    let open = judging.blockers(reports.iter().copied());
    let open: HashMap<_, _> = open.iter().map(|b| (&b.finding.fingerprint, b.cause.as_str())).collect();
    let mut seen = HashSet::new();
    let changes = reports.into_iter().flat_map(Report::findings);
    changes
        .filter(|(_, finding)| seen.insert(&finding.fingerprint))
        .map(|(tool, finding)| Standing {
            fingerprint: finding.fingerprint.clone(),
            blocks: open.get(&finding.fingerprint).copied(),
            decision: judging.decision(finding).cloned(),
            announced: judging.notice(tool, finding),
        })
        .collect()
}

fn findings(draft: &Draft) -> impl Iterator<Item = (&ToolReport, &Finding)> {
    draft.reports().flat_map(crate::diff::Report::findings)
}

fn unknown_change(text: &str, of: &str) -> AppError {
    AppError::new(Kind::NotFound, "unknown-change", format!("{of} has no change `{text}`"))
        .help("a draft, and the check of a promotion, show the fingerprint of each change")
}

pub(super) fn busy(catalog: &CatalogName) -> AppError {
    let message =
        format!("others write to catalog `{catalog}` all the time, so nothing could be judged as it stands");
    AppError::new(Kind::Conflict, "busy", message).help("try again; nothing was written")
}

fn moved_draft(draft: &Draft, seen: &Digest) -> AppError {
    let message =
        format!("draft `d-{}` holds {} by now, not {}", draft.id, draft.digest.short(), seen.short());
    AppError::new(Kind::Stale, "draft-edited", message).help("read the draft again, then repeat it on that")
}
