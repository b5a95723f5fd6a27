//! The state that `serve --demo` begins with: three releases of the built-in server, the last one waiting for a review.

use std::path::Path;

use super::{App, AppError, Kind, MoveRequest, Overrides};
use crate::{
    catalog::{CatalogVersion, Draft, DraftStatus},
    mcp::Source,
    name::{CatalogName, EnvironmentName, InvalidName, ServerName},
    snapshot::Outcome,
};

/// The document that the demo starts from.
pub const DOCUMENT: &str = include_str!("../../catalogs/demo.yaml");

/// Who did it all.
const ACTOR: &str = "demo";

/// Where to begin reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoState {
    /// The catalog.
    pub catalog: CatalogName,
    /// The draft that waits for a review.
    pub draft: i64,
}

/// Fills a store: release 1 of the demo server approved and promoted everywhere, release 2 (compatible) approved and
/// promoted to staging, release 3 (breaking) as a draft. A store that holds the demo already is left as it is.
///
/// # Errors
/// Where `own_binary` does not serve the demo releases, or the store fails.
pub async fn seed(app: &App, own_binary: &Path) -> Result<DemoState, AppError> {
    let applied = app.apply("catalogs/demo.yaml", DOCUMENT, ACTOR).await?;
    let catalog = applied.catalog.name;
    if let Some(draft) = app.store.latest_draft(&catalog).await? {
        return Ok(DemoState { catalog, draft: draft.id });
    }
    let server: ServerName = name("orders")?;
    let first = release(app, &server, own_binary, 1, &catalog).await?;
    let first = approve(app, first, "the orders API as it went live").await?;
    promote(app, &catalog, "staging", 0, first, "first release").await?;
    promote(app, &catalog, "production", 0, first, "first release, as it is in staging").await?;
    let second = release(app, &server, own_binary, 2, &catalog).await?;
    let second = approve(app, second, "only additions").await?;
    promote(app, &catalog, "staging", 1, second, "try the additions").await?;
    let third = release(app, &server, own_binary, 3, &catalog).await?;
    Ok(DemoState { catalog, draft: third.id })
}

/// Snapshots one release; answers the draft that formed.
async fn release(
    app: &App,
    server: &ServerName,
    own_binary: &Path,
    number: u8,
    catalog: &CatalogName,
) -> Result<Draft, AppError> {
    let args = ["demo-server".to_owned(), "--release".to_owned(), number.to_string()];
    let source = Source::command(own_binary.to_string_lossy().into_owned(), args.to_vec());
    let recorded = app.snapshot(server, &source, ACTOR).await?;
    if recorded.listing.outcome != Outcome::Ok {
        let evidence = recorded.listing.evidence;
        let message =
            format!("release {number} of the demo server could not be listed: {}", evidence.message);
        let mut error = AppError::new(Kind::Unavailable, "demo-unavailable", message).help(&evidence.help);
        error.listing = Some(Box::new((recorded.listing.outcome, evidence)));
        return Err(error);
    }
    recorded
        .drafts
        .into_iter()
        .find(|d| &d.catalog == catalog && d.status == DraftStatus::Pending)
        .ok_or_else(|| {
            let message =
                format!("release {number} of the demo server changed nothing in catalog `{catalog}`");
            AppError::new(Kind::Internal, "demo-unchanged", message)
        })
}

async fn approve(app: &App, draft: Draft, reason: &str) -> Result<CatalogVersion, AppError> {
    let approved = app.approve(&draft.catalog, draft.id, false, reason, ACTOR).await?;
    let version = approved.version.ok_or_else(|| {
        AppError::new(Kind::Internal, "demo-unapproved", "the demo's policy asks for more approvals")
    })?;
    Ok(version.version)
}

async fn promote(
    app: &App,
    catalog: &CatalogName,
    environment: &str,
    generation: i64,
    version: CatalogVersion,
    reason: &str,
) -> Result<(), AppError> {
    let request = MoveRequest {
        environment: name::<EnvironmentName>(environment)?,
        catalog: Some(catalog.clone()),
        version,
        generation,
        reason: reason.to_owned(),
        actor: ACTOR.to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    app.promote(&request).await.map(|_| ())
}

fn name<T: std::str::FromStr<Err = InvalidName>>(text: &str) -> Result<T, AppError> {
    text.parse().map_err(|e: InvalidName| AppError::new(Kind::Internal, "invalid-name", e.to_string()))
}
