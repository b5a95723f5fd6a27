//! Reports under another assumption than the policy's, which no draft stores. A report is a pure function of what is compared and
//! how, so one that was made is made again only where it was given up for others.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use super::{App, AppError};
use crate::{
    catalog::{CatalogVersion, Draft},
    diff::{Assumption, Options, Report},
    json::Digest,
    name::CatalogName,
};

/// Findings of all kept reports together: some ten megabytes where each has a witness.
const MOST_FINDINGS: usize = 20_000;
/// Reports that are kept at most, however few findings they have.
const MOST_REPORTS: usize = 64;

/// What a report is of.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Of {
    catalog: CatalogName,
    draft: i64,
    /// A draft that was edited holds something else under the same number.
    digest: Digest,
    base: Option<CatalogVersion>,
    options: Options,
}

/// The reports that were made last, the newest at the end.
#[derive(Debug, Default)]
pub(super) struct Reports(Mutex<VecDeque<(Of, Arc<Report>)>>);

impl Reports {
    fn get(&self, of: &Of) -> Option<Arc<Report>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == of).map(|(_, report)| Arc::clone(report))
    }

    fn keep(&self, of: Of, report: &Arc<Report>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().all(|(known, _)| *known != of) {
            kept.push_back((of, Arc::clone(report)));
        }
        let findings = |kept: &VecDeque<(Of, Arc<Report>)>| -> usize {
            kept.iter().map(|(_, report)| report.findings().count()).sum()
        };
        // The newest stays, however long it is.
        while kept.len() > 1 && (kept.len() > MOST_REPORTS || findings(&kept) > MOST_FINDINGS) {
            kept.pop_front();
        }
    }
}

impl App {
    /// A draft's content against its base, judged again under this assumption (for reading; decides nothing).
    ///
    /// # Errors
    /// Where the contracts it was made from are not stored any more.
    pub async fn report_under(&self, draft: &Draft, assume: Assumption) -> Result<Arc<Report>, AppError> {
        let options = Options { assume, formats: draft.report.formats };
        let of = Of {
            catalog: draft.catalog.clone(),
            draft: draft.id,
            digest: draft.digest.clone(),
            base: draft.base,
            options,
        };
        if let Some(report) = self.reports.get(&of) {
            return Ok(report);
        }
        let report = Arc::new(self.draft_under(draft, options).await?);
        self.reports.keep(of, &report);
        Ok(report)
    }
}
