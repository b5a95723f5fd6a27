//! The audit log.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::schema;
use crate::{
    catalog::{self, event::Origin},
    json::Digest,
};

/// One row of the audit log.
#[derive(Serialize, ToSchema)]
pub struct Event {
    seq: i64,
    at: DateTime<Utc>,
    actor: String,
    kind: String,
    subject: String,
    data: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Origin>, nullable = false)]
    origin: Option<Origin>,
    #[schema(value_type = schema::Digest)]
    previous: Digest,
    #[schema(value_type = schema::Digest)]
    digest: Digest,
}

impl From<catalog::Event> for Event {
    fn from(e: catalog::Event) -> Self {
        Self {
            seq: e.seq,
            at: e.at,
            actor: e.actor,
            kind: e.kind,
            subject: e.subject,
            data: e.data,
            origin: e.origin,
            previous: e.previous,
            digest: e.digest,
        }
    }
}
