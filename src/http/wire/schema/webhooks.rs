//! Webhooks, as the description names them.

use serde::Serialize;
use utoipa::ToSchema;

/// The name of a webhook.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", min_length = 1, max_length = 64, examples("on-call"))]
pub(crate) struct WebhookName(String);

/// An absolute http or https URL.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^https?://", max_length = 2000, examples("https://hooks.example.com/services/1"))]
pub(crate) struct WebhookUrl(String);

/// A kind of event, `draft.created`, or what a family of them begins with, `draft.`.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = r"^[a-z-]+\.[a-z-]*$", max_length = 64, examples("environment."))]
pub(crate) struct EventKind(String);

/// The form of messages.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WebhookShape {
    /// CloudEvents 1.0, structured JSON.
    Cloudevents,
    /// What Slack shows.
    Slack,
}

/// Whether anything is sent.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WebhookState {
    /// It is.
    Active,
    /// Nothing is.
    Disabled,
}

/// How a delivery stands.
#[derive(ToSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DeliveryStatus {
    /// It was not taken yet.
    Waiting,
    /// The receiver answered with a 2xx status.
    Delivered,
    /// It is not tried any more.
    Failed,
}

/// The number of a delivery.
#[derive(ToSchema)]
#[schema(value_type = String, pattern = "^[0-9]{1,18}$", examples("7"))]
pub(crate) struct DeliveryNumber(String);
