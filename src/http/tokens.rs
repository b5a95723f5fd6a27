//! Tokens, and who calls.

use std::collections::BTreeSet;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Error,
    catalogs::ListQuery,
    conditional::Tagged,
    cursor::List,
    extract::{Body, By, Object, Path, Query},
    wire::{self, schema},
};
use crate::{
    access::{CallerKind, Role, Scope},
    app::{access::tokens::NewToken, lists::TokenKey},
    name::{CatalogName, EnvironmentName},
};

/// The id of a token in a path.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct TokenId(String);

impl TryFrom<String> for TokenId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix("tok-").unwrap_or_default();
        if digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Self(text));
        }
        Err("the id of a token is `tok-` and twelve hexadecimal digits".to_owned())
    }
}

/// Says who calls, and what they may do.
#[utoipa::path(
    get, path = "/api/v1/me", tag = "access",
    responses((status = 200, description = "The caller.", body = wire::Caller)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn get_caller(By { app, .. }: By) -> Result<Tagged<wire::Caller>, Error> {
    app.caller().map(|caller| Tagged(wire::Caller::from(caller))).ok_or(Error::Unauthenticated)
}

/// Lists tokens, the oldest first: an admin sees all, everybody else their own.
///
/// Those that ended or were taken back stay in the list. Secrets are in none.
#[utoipa::path(
    get, path = "/api/v1/tokens", tag = "access", params(ListQuery),
    responses((status = 200, description = "A page of tokens.", body = wire::Items<wire::Token>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_tokens(
    By { app, .. }: By,
    Query(query): Query<ListQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::<TokenKey>::new("tokens", uri, query.limit, query.cursor.as_deref())?;
    let page = app.tokens_page(&list.slice).await?;
    Ok(list.answer::<_, wire::Token>(page))
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TokenBody {
    /// What it is for.
    #[schema(pattern = r"\S", max_length = 100)]
    name: String,
    /// Who acts with it, as the history shows them; the caller where absent.
    #[schema(min_length = 1, max_length = 64, pattern = "^[!-9;-~]+$")]
    owner: Option<String>,
    /// What its holder is.
    #[schema(value_type = schema::CallerKind)]
    kind: CallerKind,
    /// What its holder may do.
    #[schema(value_type = Vec<schema::Role>, min_items = 1)]
    roles: BTreeSet<Role>,
    /// Only in these catalogs; in all where absent.
    #[schema(value_type = Option<Vec<schema::CatalogName>>)]
    catalogs: Option<BTreeSet<CatalogName>>,
    /// Only in these environments; in all where absent.
    #[schema(value_type = Option<Vec<schema::EnvironmentName>>)]
    environments: Option<BTreeSet<EnvironmentName>>,
    /// When it ends; never where absent.
    expires_at: Option<DateTime<Utc>>,
}

/// Makes a token. The answer has its secret, which is shown this once and kept nowhere.
///
/// An admin makes tokens for anybody. Everybody else makes them for themselves, with no more roles and no wider a scope than
/// they have.
#[utoipa::path(
    post, path = "/api/v1/tokens", tag = "access",
    request_body(content = TokenBody, example = json!({
        "name": "deploy pipeline", "owner": "deploy", "kind": "ci", "roles": ["operator"], "catalogs": ["orders"]
    })),
    responses((status = 201, description = "The token with its secret.", body = wire::NewToken)),
    extensions(("x-problems" = json!([
        "role-needed", "kind-forbidden", "out-of-scope", "invalid-name", "invalid-owner", "no-role", "bad-expiry",
        "secret-shown-once"
    ]))),
)]
pub(super) async fn create_token(
    By { app, actor }: By,
    Body(Object(body)): Body<Object<TokenBody>>,
) -> Result<Response, Error> {
    let TokenBody { name, owner, kind, roles, catalogs, environments, expires_at } = body;
    let scope = Scope { catalogs, environments };
    let owner = owner.unwrap_or_else(|| actor.clone());
    let new = NewToken { name, owner, kind, roles, scope, expires_at };
    let (token, secret) = app.create_token(new, &actor).await?;
    let headers = [
        (header::LOCATION, HeaderValue::from_str(&format!("/api/v1/tokens/{}", token.id)).ok()),
        (header::CACHE_CONTROL, Some(HeaderValue::from_static("no-store"))),
    ];
    let mut response = (StatusCode::CREATED, Json(wire::NewToken::of(token, secret))).into_response();
    response.headers_mut().extend(headers.into_iter().filter_map(|(name, value)| Some((name, value?))));
    Ok(response)
}

/// Reads one token, but for its secret.
#[utoipa::path(
    get, path = "/api/v1/tokens/{token}", tag = "access",
    params(("token" = schema::TokenId, Path, description = "The token's id.", example = "tok-0123456789ab")),
    responses((status = 200, description = "The token.", body = wire::Token)),
    extensions(("x-problems" = json!(["unknown-token"]))),
)]
pub(super) async fn get_token(
    By { app, .. }: By,
    Path(TokenId(id)): Path<TokenId>,
) -> Result<Tagged<wire::Token>, Error> {
    Ok(Tagged(app.get_token(&id).await?.into()))
}

/// Takes a token back, and ends the sessions that it began.
///
/// From now on at this process, and within five seconds at all others.
#[utoipa::path(
    delete, path = "/api/v1/tokens/{token}", tag = "access",
    params(("token" = schema::TokenId, Path, description = "The token's id.", example = "tok-0123456789ab")),
    responses((status = 200, description = "The token as it is now.", body = wire::Token)),
    extensions(("x-problems" = json!(["unknown-token", "token-revoked"]))),
)]
pub(super) async fn revoke_token(
    By { app, actor }: By,
    Path(TokenId(id)): Path<TokenId>,
) -> Result<Json<wire::Token>, Error> {
    Ok(Json(app.revoke_token(&id, &actor).await?.into()))
}
