//! Teams, which own servers and catalogs.

use serde_json::json;

pub use crate::store::Team;

use super::Right;
use crate::{
    app::{App, AppError, Kind},
    name::{CatalogName, ServerName, TeamName},
    store::Owned,
};

impl App {
    /// The teams, by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn teams(&self) -> Result<Vec<Team>, AppError> {
        Ok(self.store.teams().await?)
    }

    /// One team.
    ///
    /// # Errors
    /// Where there is none of this name.
    pub async fn team(&self, name: &TeamName) -> Result<Team, AppError> {
        let teams = self.store.teams().await?;
        let known: Vec<String> = teams.iter().map(|team| team.name.to_string()).collect();
        let found = teams.into_iter().find(|team| team.name == *name);
        found.ok_or_else(|| AppError::unknown("team", "unknown-team", name.as_str(), &known))
    }

    /// Makes a team, or changes it to this. What it owns is no other team's any more.
    ///
    /// # Errors
    /// Where the caller may not, or a member is no name.
    pub async fn put_team(&self, team: &Team, actor: &str) -> Result<(), AppError> {
        self.permit_whole(Right::Administer)?;
        for member in &team.members {
            crate::app::actor(member)?;
        }
        let event = self.event(actor, "team.changed", format!("team/{}", team.name), json!(team));
        Ok(self.store.put_team(team, self.now(), event).await?)
    }

    /// Removes a team; what it owned has no owner.
    ///
    /// # Errors
    /// Where the caller may not, or there is none of this name.
    pub async fn remove_team(&self, name: &TeamName, actor: &str) -> Result<(), AppError> {
        self.permit_whole(Right::Administer)?;
        let event = self.event(actor, "team.removed", format!("team/{name}"), json!({}));
        if self.store.remove_team(name, event).await? {
            return Ok(());
        }
        Err(AppError::new(Kind::NotFound, "unknown-team", format!("team `{name}` does not exist")))
    }

    /// The team that owns a server.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn owner_of_server(&self, server: &ServerName) -> Result<Option<Team>, AppError> {
        Ok(self.store.owner(Owned::Server, server.as_str()).await?)
    }

    /// The team that owns a catalog.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn owner_of_catalog(&self, catalog: &CatalogName) -> Result<Option<Team>, AppError> {
        Ok(self.store.owner(Owned::Catalog, catalog.as_str()).await?)
    }
}
