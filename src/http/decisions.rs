//! Decisions on single changes: accepted, waived for a time, rejected, withdrawn.

use std::cmp::Reverse;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
};
use chrono::{DateTime, Datelike as _, Utc};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    cursor::List,
    extract::{Body, By, Path, Query},
    wire::{self, schema},
};
use crate::{
    app::{
        App,
        lists::DecisionFilter,
        review::{Changes, DecideRequest},
    },
    catalog::review::Ruling,
    name::{CatalogName, EnvironmentName},
};

/// A change by its fingerprint, or by the first digits of it; in lower case, without `sha256:`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct ChangeName(String);

impl TryFrom<String> for ChangeName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let hex = text.strip_prefix("sha256:").unwrap_or(&text);
        if (6..=64).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(hex.to_ascii_lowercase()))
        } else {
            Err("this is no fingerprint of a change, nor its first 6 or more hex digits".to_owned())
        }
    }
}

/// A few words on one line.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Owner(String);

impl TryFrom<String> for Owner {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, &'static str> {
        if (1..=128).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
            Ok(Self(text))
        } else {
            Err("an owner has 1 to 128 characters, none of them a control character")
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct DecisionsQuery {
    /// Only those that decided so.
    #[param(value_type = Option<schema::Ruling>, inline)]
    ruling: Option<Ruling>,
    /// Only on this change.
    #[param(value_type = Option<schema::ChangeName>)]
    change: Option<ChangeName>,
    /// Only those that count for this environment alone.
    #[param(value_type = Option<schema::EnvironmentName>)]
    environment: Option<EnvironmentName>,
    /// Only waivers that count still and end until then.
    expires_before: Option<DateTime<Utc>>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists what was decided on changes of a catalog, the newest first.
///
/// Those that count no more as well: a later decision on the same change, for the same environment, takes the place of an
/// earlier one.
#[utoipa::path(
    get, path = "/api/v1/catalogs/{catalog}/decisions", tag = "drafts",
    params(("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders"), DecisionsQuery),
    responses((status = 200, description = "A page of decisions.", body = wire::Items<wire::ChangeDecision>)),
    extensions(("x-problems" = json!(["unknown-catalog"]))),
)]
pub(super) async fn list_decisions(
    State(app): State<App>,
    Path(catalog): Path<CatalogName>,
    Query(query): Query<DecisionsQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let name = format!("catalogs/{catalog}/decisions");
    let list = List::<Reverse<i64>>::new(name, uri, query.limit, query.cursor.as_deref())?;
    let DecisionsQuery { ruling, change, environment, expires_before, .. } = query;
    let filter = DecisionFilter { ruling, change: change.map(|c| c.0), environment, expires_before };
    let page = app.decisions_page(&catalog, &filter, &list.slice).await?;
    Ok(list.answer::<_, wire::ChangeDecision>(page))
}

/// A decision: on `changes`, or on all that a `rule` found in a `draft`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DecideBody {
    /// The changes one by one, of the newest draft, of what could be promoted, of any check, or decided before.
    #[schema(value_type = Option<Vec<schema::ChangeName>>)]
    changes: Option<Vec<ChangeName>>,
    /// The number of a draft; with `rule`, and without `changes`.
    draft: Option<i64>,
    /// The number of a check; with `changes` of it.
    check: Option<i64>,
    /// The id of a rule.
    #[schema(example = "tool-removed")]
    rule: Option<String>,
    /// What is decided.
    #[schema(value_type = schema::Ruling)]
    ruling: Ruling,
    /// The only environment that it counts for; everywhere where absent.
    #[schema(value_type = Option<schema::EnvironmentName>)]
    environment: Option<EnvironmentName>,
    /// Why, for whoever reads the history.
    #[schema(pattern = r"\S")]
    reason: String,
    /// Who answers for a waiver; whoever decides where nobody is named.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128)]
    owner: Option<Owner>,
    /// When an acceptance ends by itself, which makes it a waiver.
    expires: Option<DateTime<Utc>>,
}

/// Decides on changes, all or none.
///
/// A decision sticks to the change: where the same change comes again, in a later draft or before a promotion, it is decided
/// already. A later decision takes its place.
#[utoipa::path(
    post, path = "/api/v1/catalogs/{catalog}/decisions", tag = "drafts",
    params(("catalog" = schema::CatalogName, Path, description = "The catalog's name.", example = "orders")),
    request_body(content = DecideBody, example = json!({
        "draft": 3, "rule": "enum-value-removed", "ruling": "accept", "reason": "callers move until then",
        "owner": "team-orders", "expires": "2027-01-31T00:00:00Z",
    })),
    responses((status = 201, description = "The decisions, one for each change.", body = wire::Items<wire::ChangeDecision>)),
    extensions(("x-problems" = json!([
        "unknown-catalog", "unknown-environment", "unknown-draft", "unknown-rule", "unknown-check", "check-pruned",
        "unknown-change", "no-change", "too-many-changes", "ambiguous-fingerprint", "absolute-finding", "own-check",
        "bad-expiry", "owner-without-expiry", "invalid-owner", "empty-reason", "invalid-reason"
    ]))),
)]
pub(super) async fn create_decisions(
    Path(catalog): Path<CatalogName>,
    By { app, actor }: By,
    Body(body): Body<DecideBody>,
) -> Result<Response, Error> {
    let changes = match (body.changes, body.draft, body.rule, body.check) {
        (Some(names), None, None, check) => {
            let fingerprints = names.into_iter().map(|name| name.0).collect();
            match check {
                Some(check) => Changes::Check { check, fingerprints },
                None => Changes::Fingerprints(fingerprints),
            }
        }
        (None, Some(draft), Some(rule), None) => Changes::Rule { draft, rule },
        _ => {
            return Err(Error::InvalidBody(
                "names neither `changes` alone or of a `check`, nor a `draft` with a `rule`".to_owned(),
            ));
        }
    };
    // What has more digits than four is no date to everyone who reads it.
    if body.expires.is_some_and(|end| end.year() > 9999) {
        let cause = "no year of four digits".to_owned();
        return Err(Error::InvalidMember { pointer: "/expires".to_owned(), cause });
    }
    let request = DecideRequest {
        catalog,
        changes,
        ruling: body.ruling,
        environment: body.environment,
        reason: body.reason,
        owner: body.owner.map(|owner| owner.0),
        expires: body.expires,
        actor,
    };
    let decisions = wire::Items::<wire::ChangeDecision>::of(app.decide(&request).await?);
    Ok((StatusCode::CREATED, Json(decisions)).into_response())
}
