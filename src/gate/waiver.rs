//! Waivers: changes that may pass until a day, for a reason. Bound to a fingerprint, never to a text.

use chrono::NaiveDate;
use serde::Serialize;

use crate::json::Digest;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiver {
    /// The change: its fingerprint's first hex digits, or all of them.
    pub fingerprint: String,
    /// Why.
    pub reason: String,
    /// The last day on which it counts.
    pub expires: NaiveDate,
    /// Who answers for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Waiver {
    /// Whether it is of this change.
    #[must_use]
    pub fn is_of(&self, fingerprint: &Digest) -> bool {
        digits(fingerprint).starts_with(&self.fingerprint)
    }

    /// Whether its last day is over.
    #[must_use]
    pub fn is_expired(&self, today: NaiveDate) -> bool {
        self.expires < today
    }
}

/// The hex digits of a digest.
#[must_use]
pub fn digits(digest: &Digest) -> String {
    let text = digest.to_string();
    text.strip_prefix("sha256:").unwrap_or(&text).to_owned()
}
