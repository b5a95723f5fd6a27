//! What is counted where it happens. Who reads the numbers is a face's business; where nobody does, nothing is kept.

use crate::{catalog::webhook::DeliveryStatus, diff::Verdict, snapshot::Outcome};

/// Diffs, by verdict.
pub const DIFFS: &str = "toolpact_diffs_total";
/// Recorded listings, by outcome.
pub const SNAPSHOTS: &str = "toolpact_snapshots_total";
/// Attempts to tell a webhook, by result.
pub const DELIVERIES: &str = "toolpact_deliveries_total";

/// Counts everything from 0, so that the first of a kind is a step and not a beginning: rates see it.
pub fn begin() {
    for verdict in [Verdict::Compatible, Verdict::Risky, Verdict::Undecided, Verdict::Breaking] {
        metrics::counter!(DIFFS, "verdict" => verdict.as_str()).increment(0);
    }
    for outcome in Outcome::ALL {
        metrics::counter!(SNAPSHOTS, "outcome" => outcome.as_str()).increment(0);
    }
    for status in [DeliveryStatus::Delivered, DeliveryStatus::Waiting, DeliveryStatus::Failed] {
        metrics::counter!(DELIVERIES, "result" => result(status)).increment(0);
    }
}

/// A diff was made.
pub(super) fn diff(verdict: Verdict) {
    metrics::counter!(DIFFS, "verdict" => verdict.as_str()).increment(1);
}

/// A listing was recorded.
pub(super) fn snapshot(outcome: Outcome) {
    metrics::counter!(SNAPSHOTS, "outcome" => outcome.as_str()).increment(1);
}

/// A message was sent.
pub(super) fn delivery(status: DeliveryStatus) {
    metrics::counter!(DELIVERIES, "result" => result(status)).increment(1);
}

fn result(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Delivered => "delivered",
        DeliveryStatus::Waiting => "retried",
        DeliveryStatus::Failed => "failed",
    }
}
