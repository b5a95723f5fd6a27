//! Reviews: what was decided on changes, who approved, and what was said.

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{
    app::view,
    catalog::{
        DraftStatus, announced,
        review::{self, Ruling},
    },
    json::Digest,
    name::{CatalogName, EnvironmentName, ServerName},
};

/// One approval of what a draft holds.
#[derive(Serialize, ToSchema)]
pub struct Approval {
    actor: String,
    reason: String,
    at: DateTime<Utc>,
}

impl From<review::Approval> for Approval {
    fn from(a: review::Approval) -> Self {
        Self { actor: a.actor, reason: a.reason, at: a.at }
    }
}

/// A draft that others have to approve as well.
#[derive(Serialize, ToSchema)]
pub struct Approved {
    draft: i64,
    /// Of what it holds now, in order.
    approvals: Vec<Approval>,
    /// How many people other than its authors have to.
    needed: usize,
}

impl From<view::Approved> for Approved {
    fn from(a: view::Approved) -> Self {
        let approvals = a.approvals.into_iter().map(Approval::from).collect();
        Self { draft: a.draft, approvals, needed: a.needed }
    }
}

/// One decision on one change. It sticks to the change; a later one takes its place.
#[derive(Serialize, ToSchema)]
pub struct ChangeDecision {
    id: i64,
    #[schema(value_type = schema::CatalogName)]
    catalog: CatalogName,
    /// The change's fingerprint.
    #[schema(value_type = schema::Digest)]
    change: Digest,
    /// The change in words, as it was when it was decided.
    summary: String,
    /// The only environment that it counts for; everywhere where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EnvironmentName>, nullable = false)]
    environment: Option<EnvironmentName>,
    #[schema(value_type = schema::Ruling)]
    ruling: Ruling,
    reason: String,
    /// Who answers for it; only of waivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    owner: Option<String>,
    /// When it ends by itself, which makes it a waiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires: Option<DateTime<Utc>>,
    actor: String,
    at: DateTime<Utc>,
}

impl From<review::Decision> for ChangeDecision {
    fn from(d: review::Decision) -> Self {
        Self {
            id: d.id,
            catalog: d.catalog,
            change: d.fingerprint,
            summary: d.change,
            environment: d.environment,
            ruling: d.ruling,
            reason: d.reason,
            owner: d.owner,
            expires: d.expires,
            actor: d.actor,
            at: d.at,
        }
    }
}

/// One remark on a draft, or on one change in it.
#[derive(Serialize, ToSchema)]
pub struct Comment {
    id: i64,
    draft: i64,
    /// The change's fingerprint, where it is on one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Digest>, nullable = false)]
    change: Option<Digest>,
    text: String,
    actor: String,
    at: DateTime<Utc>,
}

impl From<review::Comment> for Comment {
    fn from(c: review::Comment) -> Self {
        Self { id: c.id, draft: c.draft, change: c.fingerprint, text: c.text, actor: c.actor, at: c.at }
    }
}

/// How one change stands, of a draft or of a build.
#[derive(Serialize, ToSchema)]
pub struct Standing {
    /// The change's fingerprint.
    #[schema(value_type = schema::Digest)]
    change: Digest,
    /// Why it stands in the way; absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Blocks>, nullable = false)]
    blocks: Option<&'static str>,
    /// What was decided of it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    decision: Option<ChangeDecision>,
    /// Where it blocks by its level, was announced to go and was not rejected: since when, and when it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    announced: Option<Notice>,
}

/// That something goes, held against the days that are promised. Days are those of UTC.
#[derive(Serialize, ToSchema)]
pub struct Notice {
    /// The day on which it was announced.
    since: NaiveDate,
    /// How many days are promised.
    days: u32,
    /// The first day on which it may go.
    from: NaiveDate,
    /// Whether that day has come.
    over: bool,
}

impl From<announced::Notice> for Notice {
    fn from(n: announced::Notice) -> Self {
        Self { since: n.since, days: n.days, from: n.from, over: n.over }
    }
}

impl From<view::Standing> for Standing {
    fn from(s: view::Standing) -> Self {
        Self {
            change: s.fingerprint,
            blocks: s.blocks,
            decision: s.decision.map(ChangeDecision::from),
            announced: s.announced.map(Notice::from),
        }
    }
}

/// A server that offers something else by now.
#[derive(Serialize, ToSchema)]
pub struct Waiting {
    #[schema(value_type = schema::ServerName)]
    server: ServerName,
    /// What it offers.
    #[schema(value_type = schema::Digest)]
    snapshot: Digest,
}

/// A draft under review.
#[derive(Serialize, ToSchema)]
pub struct Review {
    draft: i64,
    #[schema(value_type = schema::DraftStatus)]
    status: DraftStatus,
    /// What the draft holds now, which the approvals are of.
    #[schema(value_type = schema::Digest)]
    digest: Digest,
    /// Of what it holds now, in order.
    approvals: Vec<Approval>,
    /// How many people other than its authors have to.
    needed: usize,
    /// In order.
    comments: Vec<Comment>,
    /// Each change once, those of the report first, then those against older versions.
    standing: Vec<Standing>,
    /// What is drafted when this draft is decided.
    queue: Vec<Waiting>,
}

impl From<view::ReviewPage> for Review {
    fn from(r: view::ReviewPage) -> Self {
        Self {
            draft: r.draft.id,
            status: r.draft.status,
            digest: r.draft.digest,
            approvals: r.approvals.into_iter().map(Approval::from).collect(),
            needed: r.needed,
            comments: r.comments.into_iter().map(Comment::from).collect(),
            standing: r.standing.into_iter().map(Standing::from).collect(),
            queue: r.queue.into_iter().map(|(server, snapshot)| Waiting { server, snapshot }).collect(),
        }
    }
}
