//! Teams, which own servers and catalogs.

use std::collections::BTreeSet;

use axum::{
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    Error,
    catalogs::ListQuery,
    conditional::{IfMatch, Seen, Tagged, tag},
    cursor::List,
    extract::{Body, By, Object, Path, Query},
    wire::{self, schema},
};
use crate::{
    app::{App, AppError, Kind, access::teams::Team},
    name::{CatalogName, ServerName, TeamName},
};

/// Lists teams, by name.
#[utoipa::path(
    get, path = "/api/v1/teams", tag = "access", params(ListQuery),
    responses((status = 200, description = "A page of teams.", body = wire::Items<wire::Team>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_teams(
    By { app, .. }: By,
    Query(query): Query<ListQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::<TeamName>::new("teams", uri, query.limit, query.cursor.as_deref())?;
    let page = app.teams_page(&list.slice).await?;
    Ok(list.answer::<_, wire::Team>(page))
}

/// Reads one team.
#[utoipa::path(
    get, path = "/api/v1/teams/{team}", tag = "access",
    params(("team" = schema::TeamName, Path, description = "The team's name.", example = "payments")),
    responses((status = 200, description = "The team.", body = wire::Team)),
    extensions(("x-problems" = json!(["unknown-team"]))),
)]
pub(super) async fn get_team(
    By { app, .. }: By,
    Path(name): Path<TeamName>,
) -> Result<Tagged<wire::Team>, Error> {
    Ok(Tagged(app.team(&name).await?.into()))
}

/// A team.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamBody {
    /// Who belongs to it, as the history shows them.
    #[schema(value_type = Vec<String>)]
    members: BTreeSet<String>,
    /// Its servers.
    #[serde(default)]
    #[schema(value_type = Vec<schema::ServerName>, required = false)]
    servers: BTreeSet<ServerName>,
    /// Its catalogs: only its members decide on their drafts.
    #[serde(default)]
    #[schema(value_type = Vec<schema::CatalogName>, required = false)]
    catalogs: BTreeSet<CatalogName>,
}

/// Sets who belongs to a team and what it owns, or makes the team.
///
/// What it owns is no other team's any more. A team is made with `If-None-Match: *`, and changed with its ETag as `If-Match`.
#[utoipa::path(
    put, path = "/api/v1/teams/{team}", tag = "access",
    params(
        ("team" = schema::TeamName, Path, description = "The team's name.", example = "payments"),
        ("If-None-Match" = Option<String>, Header, description = "`*`, to make the team where it is not there yet."),
    ),
    request_body(content = TeamBody, example = json!({"members": ["ann", "ben"], "catalogs": ["orders"]})),
    responses(
        (status = 200, description = "The team as it is now.", body = wire::Team),
        (status = 201, description = "The team, which was made.", body = wire::Team),
    ),
    extensions(("x-problems" = json!(["unknown-team", "stale-etag", "invalid-actor", "invalid-if-none-match"]))),
)]
pub(super) async fn put_team(
    Path(name): Path<TeamName>,
    Seen(seen): Seen,
    By { app, actor }: By,
    Body(Object(body)): Body<Object<TeamBody>>,
) -> Result<Response, Error> {
    let made = seen.is_none();
    match &seen {
        Some(seen) => unchanged(&app, &name, seen).await?,
        None => absent(&app, &name).await?,
    }
    let TeamBody { members, servers, catalogs } = body;
    app.put_team(&Team { name: name.clone(), members, servers, catalogs }, &actor).await?;
    let answer = Tagged(wire::Team::from(app.team(&name).await?));
    Ok(if made {
        (StatusCode::CREATED, [(header::LOCATION, format!("/api/v1/teams/{name}"))], answer).into_response()
    } else {
        answer.into_response()
    })
}

/// Removes a team. What it owned has no owner.
#[utoipa::path(
    delete, path = "/api/v1/teams/{team}", tag = "access",
    params(("team" = schema::TeamName, Path, description = "The team's name.", example = "payments")),
    responses((status = 204, description = "It is gone.")),
    extensions(("x-problems" = json!(["unknown-team", "stale-etag"]))),
)]
pub(super) async fn remove_team(
    Path(name): Path<TeamName>,
    seen: IfMatch,
    By { app, actor }: By,
) -> Result<StatusCode, Error> {
    unchanged(&app, &name, &seen).await?;
    app.remove_team(&name, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn unchanged(app: &App, name: &TeamName, seen: &IfMatch) -> Result<(), Error> {
    let now = wire::Team::from(app.team(name).await?);
    seen.check(&format!("team `{name}`"), &tag(&now)?)
}

async fn absent(app: &App, name: &TeamName) -> Result<(), Error> {
    if app.teams().await?.iter().all(|team| team.name != *name) {
        return Ok(());
    }
    let message = format!("team `{name}` is there already");
    Err(AppError::new(Kind::Stale, "stale-etag", message)
        .help("read it, and change it with its ETag as `If-Match`")
        .into())
}
