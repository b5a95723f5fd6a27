//! The review of a draft: who approved, what was decided and said.

use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Error,
    conditional::Tagged,
    extract::{Body, By, DraftId, Path},
    wire::{self, schema},
};
use crate::{app::App, json::Digest, name::CatalogName};

/// Reads the review of a draft: approvals, remarks, and how each of its changes stands.
///
/// A change whose `blocks` is there stands in the way of an approval. What is in `queue` is drafted when the draft is decided.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/drafts/{draft}/review", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    responses((status = 200, description = "The review.", body = wire::Review)),
    extensions(("x-problems" = json!(["unknown-catalog", "unknown-draft"]))),
)]
pub(super) async fn get_review(
    State(app): State<App>,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
) -> Result<Tagged<wire::Review>, Error> {
    Ok(Tagged(app.review(&catalog, draft.0).await?.into()))
}

/// A remark.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CommentBody {
    /// What is said, of 10,000 bytes at most.
    #[schema(pattern = r"\S")]
    text: String,
    /// The fingerprint of the change that it is on; on the draft as a whole where absent.
    #[schema(value_type = Option<schema::Digest>)]
    change: Option<Digest>,
}

/// Says something of a draft, or of one change in it.
///
/// Whoever says something is at work on the draft: what servers list from then on waits behind it.
#[utoipa::path(
    post, path = "/api/v1/catalogs/{catalog}/drafts/{draft}/comments", tag = "drafts",
    params(
        ("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"),
        ("draft" = schema::DraftNumber, Path, description = "The draft's number.", example = "d-3"),
    ),
    request_body(content = CommentBody, example = json!({"text": "who still sends `all`?"})),
    responses((status = 201, description = "The remark.", body = wire::Comment)),
    extensions(("x-problems" = json!(["unknown-catalog", "unknown-draft", "unknown-change", "bad-comment"]))),
)]
pub(super) async fn create_comment(
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    By { app, actor }: By,
    Body(body): Body<CommentBody>,
) -> Result<Response, Error> {
    let comment = app.comment(&catalog, draft.0, body.change.as_ref(), &body.text, &actor).await?;
    Ok((StatusCode::CREATED, axum::Json(wire::Comment::from(comment))).into_response())
}
