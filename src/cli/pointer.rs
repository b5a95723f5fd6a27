//! What `promote`, `rollback` and `release` share: which pointer, at which generation, and why.

use super::render::safe;
use crate::{
    app::{App, AppError, Kind, MoveRequest, Overrides},
    catalog::{CatalogVersion, Move, MoveKind, suggest::did_you_mean},
    name::{CatalogName, EnvironmentName},
};

/// Which pointer, seen at which generation, and why it moves.
#[derive(clap::Args)]
#[group(id = "pointer")]
pub(super) struct Args {
    /// The environment.
    pub(super) environment: EnvironmentName,
    /// The catalog; may be left out where there is only one.
    #[arg(long, value_name = "NAME")]
    pub(super) catalog: Option<CatalogName>,
    /// The generation you saw; refused as stale where it is another. Default: the one read just before.
    #[arg(long, value_name = "N")]
    pub(super) generation: Option<i64>,
    /// Why; stands in the history.
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: String,
}

/// A move: a pointer and its target.
#[derive(clap::Args)]
#[group(id = "move")]
pub(super) struct MoveArgs {
    #[command(flatten)]
    pub(super) pointer: Args,
    /// Makes a retry safe: the same key and request give the first answer again.
    #[arg(long, value_name = "KEY")]
    pub(super) idempotency_key: Option<String>,
}

impl Args {
    /// The catalog and generation to ask for, and what to tell the user of them.
    pub(super) async fn resolved(&self, app: &App) -> Result<Resolved, AppError> {
        let catalog = match &self.catalog {
            Some(name) => Some(name.clone()),
            None => {
                let mut all = app.catalogs().await?;
                if all.len() == 1 { all.pop().map(|c| c.catalog.name) } else { None }
            }
        };
        if let Some(generation) = self.generation {
            return Ok(Resolved { catalog, generation, note: format!("generation {generation}, as given") });
        }
        let pages = match app.environment(&self.environment).await {
            Ok(pages) => pages,
            Err(e) if e.kind == Kind::NotFound => Vec::new(),
            Err(e) => return Err(e),
        };
        let page = pages.iter().find(|p| catalog.as_ref().is_none_or(|c| p.pointer.catalog == *c));
        let (generation, note) = match page {
            Some(page) => {
                let p = &page.pointer;
                let at = p.moved_at.format("%Y-%m-%dT%H:%M:%SZ");
                let note =
                    format!("generation {}, made by {} at {at}", p.generation, safe::word(&p.moved_by));
                (p.generation, note)
            }
            None => {
                // A first promotion makes the environment, so a mistyped name is told only here.
                let known = app.environments().await?;
                let others = known.iter().map(|p| p.pointer.environment.as_str());
                let hint = did_you_mean(
                    self.environment.as_str(),
                    others.filter(|n| *n != self.environment.as_str()),
                );
                (0, format!("generation 0, nothing was live before{hint}"))
            }
        };
        Ok(Resolved { catalog, generation, note })
    }
}

/// What a pointer's arguments come to.
pub(super) struct Resolved {
    pub(super) catalog: Option<CatalogName>,
    pub(super) generation: i64,
    /// Which generation was used, for the user.
    pub(super) note: String,
}

impl MoveArgs {
    /// The request for a move to `version`, and the note on its generation.
    pub(super) async fn request(
        &self,
        app: &App,
        version: CatalogVersion,
        actor: String,
    ) -> Result<(MoveRequest, String), AppError> {
        let Resolved { catalog, generation, note } = self.pointer.resolved(app).await?;
        let request = MoveRequest {
            environment: self.pointer.environment.clone(),
            catalog,
            version,
            generation,
            reason: self.pointer.reason.clone(),
            actor,
            idempotency_key: self.idempotency_key.clone(),
            overrides: Overrides::default(),
        };
        Ok((request, note))
    }
}

/// A move that was made.
pub(super) fn moved(made: &Move, note: &str) -> String {
    let from = made.from.map_or_else(|| "nothing".to_owned(), |v| v.to_string());
    let done = match made.kind {
        MoveKind::Promote => "promoted",
        MoveKind::Rollback => "rolled back",
    };
    format!(
        "{}: {} {done} from {from} to {}, generation {} (was {note})\n",
        made.environment, made.catalog, made.to, made.generation
    )
}
