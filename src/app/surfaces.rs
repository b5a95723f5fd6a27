//! What servers offer beside their tools, compared: told, never judged.

use super::{App, AppError, view::SurfaceRow};
use crate::{
    name::ServerName,
    snapshot::{Outcome, SurfaceDiff},
};

impl App {
    /// How the surfaces of two snapshots differ, where both sides are snapshots of servers (`server@latest`,
    /// `server@DIGEST`) and both read the surface. Everything else has no surfaces, and so no difference.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn surfaces_between(&self, a: &str, b: &str) -> Result<Vec<SurfaceDiff>, AppError> {
        let (Some((from, before)), Some((to, after))) =
            (self.surfaces_of(a).await?, self.surfaces_of(b).await?)
        else {
            return Ok(Vec::new());
        };
        self.surface_diffs(&from, &before, &to, &after).await
    }

    async fn surfaces_of(&self, side: &str) -> Result<Option<(ServerName, Vec<SurfaceRow>)>, AppError> {
        let Some((server, digest)) = self.snapshot_named(side).await? else { return Ok(None) };
        let surfaces = self.store.surfaces(&server, &digest).await?;
        Ok(Some((server, surfaces)))
    }

    /// What differs, surface by surface; what is the same, or was not read on either side, is left out.
    pub(super) async fn surface_diffs(
        &self,
        from: &ServerName,
        before: &[SurfaceRow],
        to: &ServerName,
        after: &[SurfaceRow],
    ) -> Result<Vec<SurfaceDiff>, AppError> {
        let mut diffs = Vec::new();
        for now in after.iter().filter(|row| row.outcome == Outcome::Ok) {
            let was = before.iter().find(|row| row.kind == now.kind);
            let (Some(a), Some(b)) = (was.and_then(|row| row.digest.as_ref()), &now.digest) else { continue };
            if a == b {
                continue;
            }
            let before = self.store.surface_items(from, now.kind, a).await?;
            let after = self.store.surface_items(to, now.kind, b).await?;
            let diff = SurfaceDiff::of(now.kind, &before, &after);
            if !diff.is_empty() {
                diffs.push(diff);
            }
        }
        Ok(diffs)
    }
}
