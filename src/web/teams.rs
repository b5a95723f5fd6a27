//! `/teams`: who owns which servers and catalogs.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, administers, page, see, words},
};
use crate::{
    app::{App, AppError, Kind, access::teams::Team},
    guard::Acting,
    json::Digest,
    name::{InvalidName, TeamName},
};

#[derive(Template)]
#[template(path = "teams.html")]
struct Teams {
    frame: Frame,
    admin: bool,
    teams: Vec<Team>,
    notice: Option<(String, String)>,
    typed: TeamForm,
}

impl Teams {
    fn lines<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
        names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join("\n")
    }

    /// Names the state of a team.
    fn seen(team: &Team) -> String {
        Digest::of(&serde_json::json!(team)).short().to_owned()
    }
}

/// Every team.
pub(super) async fn show_teams(Acting { app, .. }: Acting) -> Result<Response, Error> {
    shown(&app, None, TeamForm::default()).await
}

/// A team as it is to be. Names stand one on a line.
#[derive(Default, Deserialize)]
pub(super) struct TeamForm {
    name: String,
    #[serde(default)]
    members: String,
    #[serde(default)]
    servers: String,
    #[serde(default)]
    catalogs: String,
    /// Which state of the team the page showed; empty for one that is to be made.
    #[serde(default)]
    seen: String,
}

impl TeamForm {
    fn team(&self) -> Result<Team, AppError> {
        let name = self
            .name
            .trim()
            .parse()
            .map_err(|e: InvalidName| AppError::new(Kind::Invalid, "invalid-name", e.to_string()))?;
        // A person's name may hold a space.
        let members = self.members.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(Team {
            name,
            members: members.map(ToOwned::to_owned).collect(),
            servers: words(&self.servers)?.into_iter().collect(),
            catalogs: words(&self.catalogs)?.into_iter().collect(),
        })
    }
}

/// Makes a team, or changes it to what was sent.
pub(super) async fn put_team(
    Acting { app, actor }: Acting,
    Form(form): Form<TeamForm>,
) -> Result<Response, Error> {
    let put = match form.team() {
        Ok(team) => match unmoved(&app, &team.name, &form.seen).await {
            Ok(()) => app.put_team(&team, &actor).await,
            Err(e) => Err(e),
        },
        Err(e) => Err(e),
    };
    match put {
        Ok(()) => Ok(see("/teams")),
        Err(e) => shown(&app, Some(e), form).await,
    }
}

/// Removes a team; what it owned has no owner.
pub(super) async fn remove_team(
    Acting { app, actor }: Acting,
    Path(name): Path<TeamName>,
) -> Result<Response, Error> {
    match app.remove_team(&name, &actor).await {
        Ok(()) => Ok(see("/teams")),
        Err(e) => shown(&app, Some(e), TeamForm::default()).await,
    }
}

/// Refuses a change of what somebody else has changed since it was shown, and a new team under a name that is taken.
async fn unmoved(app: &App, name: &TeamName, seen: &str) -> Result<(), AppError> {
    let known = app.teams().await?.into_iter().find(|known| known.name == *name);
    let stands = known.as_ref().map(Teams::seen).unwrap_or_default();
    if stands == seen {
        return Ok(());
    }
    let (cause, help) = match (stands.as_str(), seen) {
        (_, "") => ("exists already", "change it where it stands in the list"),
        ("", _) => ("was removed since this page was made", "make it anew, if that is meant"),
        _ => ("was changed since this page was made", "look at it as it is now, then send that"),
    };
    Err(AppError::new(Kind::Stale, "stale-etag", format!("team `{name}` {cause}")).help(help))
}

async fn shown(app: &App, failure: Option<AppError>, typed: TeamForm) -> Result<Response, Error> {
    let teams = app.teams().await?;
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(error::told);
    let frame = Frame::new(app, "/tokens");
    Ok(page(status, &Teams { frame, admin: administers(app), teams, notice, typed }))
}
