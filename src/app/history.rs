//! What became of one tool: the contracts that it had in catalogs, and everything that ever changed.

use chrono::{DateTime, Utc};

use super::{
    App, AppError,
    access::{Object, Right},
};
use crate::{
    catalog::{CatalogVersion, ContractVersion, DraftStatus},
    diff::ToolReport,
    json::Digest,
    name::{CatalogName, ServerName},
};

/// The newest versions, and the newest drafts, of each catalog that are looked at.
const LOOKED_AT: usize = 60;

/// A contract that a tool had in a catalog, from one version on.
#[derive(Debug, Clone)]
pub struct Held {
    /// Where.
    pub catalog: CatalogName,
    /// The first version of those looked at that held it so.
    pub version: CatalogVersion,
    /// Its semver.
    pub contract_version: ContractVersion,
    /// How it relates to the one before it.
    pub compatibility: &'static str,
    /// The digest of the contract; absent where a document does not pin it.
    pub contract: Option<Digest>,
    /// Who approved that version.
    pub approved_by: String,
    /// When.
    pub approved_at: DateTime<Utc>,
}

/// A change of a tool as a draft was judged.
#[derive(Debug, Clone)]
pub struct Changed {
    /// Whose draft.
    pub catalog: CatalogName,
    /// The draft.
    pub draft: i64,
    /// What became of it.
    pub status: DraftStatus,
    /// The version that it became.
    pub version: Option<CatalogVersion>,
    /// When it was made.
    pub at: DateTime<Utc>,
    /// What changed, and how that was judged.
    pub report: ToolReport,
}

/// What is known of a tool's past.
#[derive(Debug, Clone, Default)]
pub struct ToolHistory {
    /// Its contracts, the newest first.
    pub held: Vec<Held>,
    /// Its changes, the newest first.
    pub changes: Vec<Changed>,
    /// Older ones may be there, which were not looked at.
    pub more: bool,
}

impl App {
    /// What became of a tool, in every catalog that the caller may see.
    ///
    /// # Errors
    /// Where the store fails. A tool that nobody knows has no past.
    pub async fn tool_history(&self, server: &ServerName, tool: &str) -> Result<ToolHistory, AppError> {
        let mut history = ToolHistory::default();
        for catalog in self.store.catalogs().await? {
            let seen = self.permit(Right::Read, Object::catalog(&catalog.name)).is_ok();
            if seen && catalog.servers.iter().any(|s| s.name == *server) {
                self.held_in(&catalog.name, server, tool, &mut history).await?;
                self.changed_in(&catalog.name, server, tool, &mut history).await?;
            }
        }
        history.held.sort_by_key(|held| std::cmp::Reverse(held.approved_at));
        history.changes.sort_by_key(|change| std::cmp::Reverse((change.at, change.draft)));
        Ok(history)
    }

    async fn held_in(
        &self,
        catalog: &CatalogName,
        server: &ServerName,
        tool: &str,
        history: &mut ToolHistory,
    ) -> Result<(), AppError> {
        let mut numbers = self.store.version_numbers(catalog).await?;
        history.more |= numbers.len() > LOOKED_AT;
        numbers.truncate(LOOKED_AT);
        let mut before: Option<(ContractVersion, Option<Digest>)> = None;
        for number in numbers.into_iter().rev() {
            let version = self.version(catalog, number).await?;
            let member =
                version.content.members.iter().find(|m| m.tool == tool && m.server.as_ref() == Some(server));
            let now =
                member.map(|m| (m.contract_version.clone(), m.digests.as_ref().map(|d| d.contract.clone())));
            if let (Some(member), Some((contract_version, contract))) = (member, &now)
                && now != before
            {
                history.held.push(Held {
                    catalog: catalog.clone(),
                    version: number,
                    contract_version: contract_version.clone(),
                    compatibility: member.compatibility.as_str(),
                    contract: contract.clone(),
                    approved_by: version.approved_by.clone(),
                    approved_at: version.approved_at,
                });
            }
            before = now;
        }
        Ok(())
    }

    async fn changed_in(
        &self,
        catalog: &CatalogName,
        server: &ServerName,
        tool: &str,
        history: &mut ToolHistory,
    ) -> Result<(), AppError> {
        let mut rows = self.store.draft_rows(catalog, None, None, LOOKED_AT + 1).await?;
        history.more |= rows.len() > LOOKED_AT;
        rows.truncate(LOOKED_AT);
        for row in rows {
            let Some(draft) = self.store.draft(catalog, row.id).await? else { continue };
            let of_tool = |report: &ToolReport| report.tool == tool && report.server == server.as_str();
            if let Some(report) = draft.report.tools.into_iter().find(of_tool) {
                history.changes.push(Changed {
                    catalog: catalog.clone(),
                    draft: row.id,
                    status: row.status,
                    version: row.version,
                    at: row.created_at,
                    report,
                });
            }
        }
        Ok(())
    }
}
