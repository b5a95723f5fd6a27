//! Decisions on changes, approvals and edits of drafts, and what was said of them.

use async_trait::async_trait;
use sqlx::FromRow;

use super::{
    super::sql::{from_json, from_word, parsed, parsed_opt, time, to_json},
    Connection, Database,
    catalogs::{end_draft, newest, put_version},
    events,
    snapshots::put_content,
    stored, unstored,
};
use crate::{
    catalog::{
        DraftStatus,
        event::NewEvent,
        review::{Approval, Comment, Decision},
    },
    name::CatalogName,
    store::{Ending, NewApproval, NewDecisions, NewEdit, Result, Reviews, StoreError},
};

/// Decisions, by their columns.
macro_rules! decisions {
    ($where:literal) => {
        concat!(
            "SELECT d.id, d.catalog, d.fingerprint, d.environment, d.ruling, d.reason, d.owner, d.expires, d.change, d.actor, d.at
             FROM decisions d ",
            $where
        )
    };
}

#[derive(FromRow)]
struct DecisionRow {
    id: i64,
    catalog: String,
    fingerprint: String,
    environment: Option<String>,
    ruling: String,
    reason: String,
    owner: Option<String>,
    expires: Option<String>,
    change: String,
    actor: String,
    at: String,
}

impl TryFrom<DecisionRow> for Decision {
    type Error = StoreError;
    fn try_from(row: DecisionRow) -> Result<Self> {
        Ok(Self {
            id: row.id,
            catalog: parsed("catalog name", &row.catalog)?,
            fingerprint: parsed("fingerprint", &row.fingerprint)?,
            environment: parsed_opt("environment name", row.environment.as_deref())?,
            ruling: from_word("ruling", &row.ruling)?,
            reason: row.reason,
            owner: row.owner,
            expires: parsed_opt("end of a waiver", row.expires.as_deref())?,
            change: unstored(row.change),
            actor: row.actor,
            at: parsed("decision time", &row.at)?,
        })
    }
}

#[derive(FromRow)]
struct ApprovalRow {
    draft: i64,
    digest: String,
    actor: String,
    reason: String,
    at: String,
}

impl TryFrom<ApprovalRow> for Approval {
    type Error = StoreError;
    fn try_from(row: ApprovalRow) -> Result<Self> {
        Ok(Self {
            draft: row.draft,
            digest: parsed("draft digest", &row.digest)?,
            actor: row.actor,
            reason: row.reason,
            at: parsed("approval time", &row.at)?,
        })
    }
}

#[derive(FromRow)]
struct CommentRow {
    id: i64,
    draft: i64,
    fingerprint: Option<String>,
    body: String,
    actor: String,
    at: String,
}

impl TryFrom<CommentRow> for Comment {
    type Error = StoreError;
    fn try_from(row: CommentRow) -> Result<Self> {
        Ok(Self {
            id: row.id,
            draft: row.draft,
            fingerprint: parsed_opt("fingerprint", row.fingerprint.as_deref())?,
            text: unstored(row.body),
            actor: row.actor,
            at: parsed("comment time", &row.at)?,
        })
    }
}

#[async_trait]
impl Reviews for Database {
    async fn decisions(&self, catalog: &CatalogName) -> Result<Vec<Decision>> {
        let rows: Vec<DecisionRow> = sqlx::query_as(decisions!("WHERE catalog = $1 ORDER BY id"))
            .bind(catalog.as_str())
            .fetch_all(&self.reader)
            .await?;
        rows.into_iter().map(Decision::try_from).collect()
    }

    async fn waivers(&self) -> Result<Vec<Decision>> {
        let rows: Vec<DecisionRow> = sqlx::query_as(decisions!(
            "WHERE d.expires IS NOT NULL AND NOT EXISTS (
                 SELECT 1 FROM decisions later
                 WHERE later.catalog = d.catalog AND later.fingerprint = d.fingerprint AND later.id > d.id
                     AND later.environment IS NOT DISTINCT FROM d.environment
             ) ORDER BY d.expires, d.id"
        ))
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(Decision::try_from).collect()
    }

    async fn decide(&self, mut decisions: NewDecisions, event: NewEvent) -> Result<Vec<Decision>> {
        let mut tx = self.write().await?;
        put_decisions(&mut tx, &mut decisions).await?;
        events::append(&mut tx, event).await?;
        tx.commit().await?;
        Ok(decisions)
    }

    async fn approvals(&self, draft: i64) -> Result<Vec<Approval>> {
        let rows: Vec<ApprovalRow> = sqlx::query_as(
            "SELECT draft, digest, actor, reason, at FROM approvals WHERE draft = $1 ORDER BY at, actor",
        )
        .bind(draft)
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(Approval::try_from).collect()
    }

    async fn approve(&self, new: NewApproval, events: Vec<NewEvent>) -> Result<()> {
        let NewApproval { approval, mut accepted, version, basis } = new;
        let mut tx = self.write().await?;
        events::stands(&mut tx, &basis).await?;
        let holds: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM drafts
             WHERE id = $1 AND digest = $2 AND status IN ('pending', 'approved')",
        )
        .bind(approval.draft)
        .bind(approval.digest.as_str())
        .fetch_one(&mut *tx)
        .await?;
        if holds == 0 {
            return Err(StoreError::DraftChanged);
        }
        sqlx::query(
            "INSERT INTO approvals (draft, digest, actor, reason, at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (draft, digest, actor) DO NOTHING",
        )
        .bind(approval.draft)
        .bind(approval.digest.as_str())
        .bind(&approval.actor)
        .bind(&approval.reason)
        .bind(time(approval.at))
        .execute(&mut *tx)
        .await?;
        put_decisions(&mut tx, &mut accepted).await?;
        if let Some((version, base)) = version {
            if newest(&mut tx, &version.catalog).await? != base {
                return Err(StoreError::DraftChanged);
            }
            put_version(&mut tx, &version).await?;
            let ending =
                Ending { actor: version.approved_by, at: version.approved_at, reason: version.reason };
            let status = DraftStatus::Approved;
            end_draft(&mut tx, approval.draft, status, Some(version.version), &ending).await?;
        }
        for event in events {
            events::append(&mut tx, event).await?;
        }
        Ok(tx.commit().await?)
    }

    async fn edit_draft(&self, edit: NewEdit, event: NewEvent) -> Result<()> {
        let NewEdit { basis, draft, seen, content, report, earlier, editor } = edit;
        let mut tx = self.write().await?;
        events::stands(&mut tx, &basis).await?;
        let editors: Option<String> = sqlx::query_scalar(
            "SELECT edited_by FROM drafts WHERE id = $1 AND digest = $2 AND status = 'pending'",
        )
        .bind(draft)
        .bind(seen.as_str())
        .fetch_optional(&mut *tx)
        .await?;
        let mut editors: Vec<String> = match editors {
            Some(text) => from_json("editors", &text)?,
            None => return Err(StoreError::DraftChanged),
        };
        if !editors.contains(&editor) {
            editors.push(editor);
        }
        let body = put_content(&mut tx, &to_json("draft content", &content)?).await?;
        sqlx::query(
            "UPDATE drafts SET digest = $1, content = $2, report = $3, earlier = $4, edited_by = $5, verdict = $7
             WHERE id = $6",
        )
        .bind(content.digest().as_str())
        .bind(body.as_str())
        .bind(to_json("report", &report)?)
        .bind(to_json("earlier reports", &earlier)?)
        .bind(to_json("editors", &editors)?)
        .bind(draft)
        .bind(report.verdict.as_str())
        .execute(&mut *tx)
        .await?;
        events::append(&mut tx, event).await?;
        Ok(tx.commit().await?)
    }

    async fn comments(&self, draft: i64) -> Result<Vec<Comment>> {
        let rows: Vec<CommentRow> = sqlx::query_as(
            "SELECT id, draft, fingerprint, body, actor, at FROM comments WHERE draft = $1 ORDER BY id",
        )
        .bind(draft)
        .fetch_all(&self.reader)
        .await?;
        rows.into_iter().map(Comment::try_from).collect()
    }

    async fn comment(&self, comment: Comment, event: NewEvent) -> Result<Comment> {
        let mut tx = self.write().await?;
        let id: i64 = sqlx::query_scalar(
            "INSERT INTO comments (draft, fingerprint, body, actor, at) VALUES ($1, $2, $3, $4, $5)
             RETURNING id",
        )
        .bind(comment.draft)
        .bind(comment.fingerprint.as_ref().map(|f| f.as_str().to_owned()))
        .bind(stored(&comment.text).into_owned())
        .bind(&comment.actor)
        .bind(time(comment.at))
        .fetch_one(&mut *tx)
        .await?;
        events::append(&mut tx, event.with("comment", id)).await?;
        tx.commit().await?;
        Ok(Comment { id, ..comment })
    }
}

/// Keeps decisions, and gives them their numbers.
async fn put_decisions(db: &mut Connection, decisions: &mut [Decision]) -> Result<()> {
    for decision in decisions {
        decision.id = sqlx::query_scalar(
            "INSERT INTO decisions
                 (catalog, fingerprint, environment, ruling, reason, owner, expires, change, actor, at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id",
        )
        .bind(decision.catalog.as_str())
        .bind(decision.fingerprint.as_str())
        .bind(decision.environment.as_ref().map(|e| e.as_str().to_owned()))
        .bind(decision.ruling.as_str())
        .bind(&decision.reason)
        .bind(&decision.owner)
        .bind(decision.expires.map(time))
        .bind(stored(&decision.change).into_owned())
        .bind(&decision.actor)
        .bind(time(decision.at))
        .fetch_one(&mut *db)
        .await?;
    }
    Ok(())
}
