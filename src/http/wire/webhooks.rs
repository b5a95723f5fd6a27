//! Webhooks and what was sent to them.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::schema;
use crate::{
    app::webhooks::{WithSecret, shown_url},
    catalog::webhook::{self, DeliveryStatus, EventKind, Shape, State},
    diff::Verdict,
    name::{CatalogName, EnvironmentName, WebhookName},
};

/// Who is told what happens.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    #[schema(value_type = schema::WebhookName)]
    name: WebhookName,
    /// Where messages are sent, without the path: it is often all that keeps strangers out.
    #[schema(examples("https://hooks.example.com/…"))]
    to: String,
    #[schema(value_type = schema::WebhookShape)]
    shape: Shape,
    /// Kinds of events, and families of them; all but `digest.weekly` and `webhook.` where there is none.
    #[schema(value_type = Vec<schema::EventKind>)]
    kinds: Vec<EventKind>,
    #[schema(value_type = Vec<schema::Level>)]
    severities: Vec<Verdict>,
    #[schema(value_type = Vec<schema::EnvironmentName>)]
    environments: Vec<EnvironmentName>,
    #[schema(value_type = Vec<schema::CatalogName>)]
    catalogs: Vec<CatalogName>,
    #[schema(value_type = schema::WebhookState)]
    state: State,
    /// Why it is disabled, where that was not said by a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    because: Option<String>,
    /// Until when messages are signed with older secrets as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rotates_until: Option<DateTime<Utc>>,
    created_by: String,
    created_at: DateTime<Utc>,
}

impl From<webhook::Webhook> for Webhook {
    fn from(w: webhook::Webhook) -> Self {
        let (to, rotates_until) = (shown_url(&w), w.secrets.iter().filter_map(|s| s.until).max());
        let webhook::Filter { kinds, severities, environments, catalogs } = w.filter;
        let webhook::Webhook { name, shape, state, because, created_by, created_at, .. } = w;
        Self {
            name,
            to,
            shape,
            kinds,
            severities,
            environments,
            catalogs,
            state,
            because,
            rotates_until,
            created_by,
            created_at,
        }
    }
}

/// A webhook with the secret that was made for it.
#[derive(Serialize, ToSchema)]
pub struct WebhookWithSecret {
    #[serde(flatten)]
    webhook: Webhook,
    /// What messages are signed with (Standard Webhooks). Shown this once.
    #[schema(examples("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))]
    secret: String,
}

impl From<WithSecret> for WebhookWithSecret {
    fn from(w: WithSecret) -> Self {
        Self { webhook: w.webhook.into(), secret: w.secret.unwrap_or_default() }
    }
}

/// One event for one webhook.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    id: i64,
    /// The number of the event.
    event: i64,
    /// What the event is.
    kind: String,
    #[schema(value_type = schema::DeliveryStatus)]
    status: DeliveryStatus,
    /// How often it was tried.
    attempts: u32,
    /// When it was made, or asked for again.
    since: DateTime<Utc>,
    /// When it is tried next, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    due: Option<DateTime<Utc>>,
    /// What came of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last: Option<Attempt>,
}

/// What came of one attempt.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    at: DateTime<Utc>,
    /// The status of the answer; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<u16>,
    /// How the answer's body began, or why there was none.
    said: String,
}

impl From<webhook::Delivery> for Delivery {
    fn from(d: webhook::Delivery) -> Self {
        let webhook::Delivery { id, webhook: _, event, kind, status, attempts, since, due, last } = d;
        let last = last.map(|webhook::Attempt { at, status, said }| Attempt { at, status, said });
        Self { id, event, kind, status, attempts, since, due, last }
    }
}
