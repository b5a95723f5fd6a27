//! Forgetting what nobody needs: listings and checks that no rule keeps, with the snapshots and texts that nothing else holds.

use chrono::TimeDelta;
use serde::Serialize;
use serde_json::json;

use super::{App, AppError, Kind, access::Right};
use crate::store::{Forgettable, Keep, PruneBatch, Pruned, StoreError};

/// How many rows a transaction deletes of each kind: others wait no longer than that takes.
const BATCH: usize = 500;

/// How often it is looked anew at what may be forgotten, because something was decided meanwhile.
const LOOKS: usize = 10;

/// Which listings and checks are kept; one of them is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeepRules {
    /// So many listings of each server and context, the newest.
    pub listings: usize,
    /// Listings and checks that are not older than so many days.
    pub days: u32,
}

impl App {
    /// How much would be forgotten. Nothing is written.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn prunable(&self, rules: &KeepRules) -> Result<Pruned, AppError> {
        let found = self.store.forgettable(&self.kept_by(rules)?).await?;
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        Ok(Pruned {
            listings: found.listings.iter().map(|(_, ids)| count(ids.len())).sum(),
            snapshots: count(found.snapshots.len()),
            surfaces: count(found.surfaces.len()),
            texts: count(found.texts.len()),
            checks: count(found.checks.len()),
        })
    }

    /// Forgets it, a batch at a time, each with an event that says what; answers how much is gone. Where it is ended half
    /// way, what is gone is gone and all the rest is whole.
    ///
    /// # Errors
    /// Where the store fails, or so much is decided meanwhile that no batch fits between.
    pub async fn prune(&self, rules: &KeepRules, actor: &str) -> Result<Pruned, AppError> {
        self.permit_whole(Right::Administer)?;
        let keep = self.kept_by(rules)?;
        let mut all = Pruned::default();
        for _ in 0..LOOKS {
            // Read first: what is decided after this is noticed.
            let since = self.store.last_event().await?;
            let found = self.store.forgettable(&keep).await?;
            if self.prune_all(found, since, rules, actor, &mut all).await? {
                return Ok(all);
            }
        }
        let message =
            "something was decided between all batches, so not everything was forgotten that may be";
        Err(AppError::new(Kind::Conflict, "busy", message).help("run it again when less is going on"))
    }

    /// False where it has to be looked anew, because something was decided meanwhile.
    async fn prune_all(
        &self,
        found: Forgettable,
        since: i64,
        rules: &KeepRules,
        actor: &str,
        all: &mut Pruned,
    ) -> Result<bool, AppError> {
        for batch in batches(found) {
            // Of listings or of checks: no batch has both.
            let numbers = if batch.checks.is_empty() { &batch.listings } else { &batch.checks };
            let data = json!({ "keep": rules, "first": numbers.first(), "last": numbers.last() });
            let event = self.event(actor, "store.pruned", "store".to_owned(), data);
            match self.store.prune(&batch, since, event).await {
                Err(StoreError::Shifted) => return Ok(false),
                done => {
                    let done = done?;
                    all.listings += done.listings;
                    all.snapshots += done.snapshots;
                    all.surfaces += done.surfaces;
                    all.texts += done.texts;
                    all.checks += done.checks;
                }
            }
        }
        Ok(true)
    }

    fn kept_by(&self, rules: &KeepRules) -> Result<Keep, AppError> {
        let since = self.now().checked_sub_signed(TimeDelta::days(rules.days.into())).ok_or_else(|| {
            let message = format!("{} days ago is before all times", rules.days);
            AppError::new(Kind::Invalid, "invalid-days", message).help("name fewer")
        })?;
        Ok(Keep { newest: rules.listings, since })
    }
}

/// What may be forgotten, in parts; what holds something before what it holds.
fn batches(found: Forgettable) -> Vec<PruneBatch> {
    let Forgettable { listings, snapshots, surfaces, texts, checks } = found;
    let ids: Vec<i64> = listings.into_iter().flat_map(|(_, ids)| ids).collect();
    let mut batches = Vec::new();
    batches
        .extend(ids.chunks(BATCH).map(|part| PruneBatch { listings: part.to_vec(), ..Default::default() }));
    // One has as many rows as tools.
    let few = BATCH / 50;
    batches.extend(
        snapshots.chunks(few).map(|part| PruneBatch { snapshots: part.to_vec(), ..Default::default() }),
    );
    batches.extend(
        surfaces.chunks(few).map(|part| PruneBatch { surfaces: part.to_vec(), ..Default::default() }),
    );
    batches.extend(texts.chunks(BATCH).map(|part| PruneBatch { texts: part.to_vec(), ..Default::default() }));
    // One has as many rows as changes.
    batches.extend(checks.chunks(few).map(|part| PruneBatch { checks: part.to_vec(), ..Default::default() }));
    batches
}
