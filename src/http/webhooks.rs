//! Webhooks: who is told what happens, what was sent to them, and sending it again.
//!
//! Where a webhook's secret or URL is said by a file or a variable is for the command line to set: what the service reads
//! is not for its callers to say. Here a text means itself.

use std::cmp::Reverse;

use axum::{
    Json,
    http::{StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use chrono::TimeDelta;
use serde::{Deserialize, Deserializer};
use utoipa::{IntoParams, ToSchema};

use super::{
    Error,
    conditional::{IfMatch, Tagged, tag},
    cursor::List,
    extract::{Body, By, Path, Query},
    wire::{self, schema},
};
use crate::{
    app::{
        App,
        webhooks::{NewWebhook, OVERLAP, WebhookChange},
    },
    catalog::{
        server::Symbolic,
        webhook::{DeliveryStatus, EventKind, Filter, Shape, State, Webhook},
    },
    diff::Verdict,
    name::{CatalogName, EnvironmentName, WebhookName},
};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WebhooksQuery {
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists webhooks.
#[utoipa::path(
    get, path = "/api/v1/webhooks", tag = "webhooks", params(WebhooksQuery),
    responses((status = 200, description = "A page of webhooks, by name.", body = wire::Items<wire::Webhook>)),
    extensions(("x-problems" = json!([]))),
)]
pub(super) async fn list_webhooks(
    By { app, .. }: By,
    Query(query): Query<WebhooksQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = List::<WebhookName>::new("webhooks", uri, query.limit, query.cursor.as_deref())?;
    let page = app.webhooks_page(&list.slice).await?;
    Ok(list.answer::<_, wire::Webhook>(page))
}

/// Where messages are sent: an absolute URL that means itself.
pub(super) struct HookUrl(Symbolic);

impl<'de> Deserialize<'de> for HookUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        crate::app::webhooks::check_url(&text)
            .map_err(|cause| serde::de::Error::custom(format!("the URL {cause}")))?;
        Ok(Self(Symbolic::literal(&text)))
    }
}

/// A webhook to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewWebhookBody {
    #[schema(value_type = schema::WebhookName)]
    name: WebhookName,
    /// Where messages are sent. It is shown to nobody again.
    #[schema(value_type = schema::WebhookUrl)]
    url: HookUrl,
    #[serde(default)]
    #[schema(value_type = schema::WebhookShape, required = false)]
    shape: Shape,
    /// Kinds of events, or families of them with a period at the end.
    #[serde(default)]
    #[schema(value_type = Vec<schema::EventKind>, required = false)]
    kinds: Vec<EventKind>,
    /// Verdicts on what changes; what has none is not told then.
    #[serde(default)]
    #[schema(value_type = Vec<schema::Level>, required = false)]
    severities: Vec<Verdict>,
    /// What happens in no environment is not told then.
    #[serde(default)]
    #[schema(value_type = Vec<schema::EnvironmentName>, required = false)]
    environments: Vec<EnvironmentName>,
    /// What concerns no catalog is not told then.
    #[serde(default)]
    #[schema(value_type = Vec<schema::CatalogName>, required = false)]
    catalogs: Vec<CatalogName>,
}

/// Makes a webhook, which is told what happens from now on.
///
/// Each event that fits all that its filter names is sent as a CloudEvent, or as Slack shows it, signed as Standard Webhooks has
/// it. A delivery that is not taken with a 2xx status is tried again after 10 seconds, then after twice that and so on up to 20
/// minutes, for three days; `webhook-id` stays the same. 410 disables the webhook. Redirects are not followed, and only public
/// addresses are reached unless the service is told otherwise. The secret is answered this once.
#[utoipa::path(
    post, path = "/api/v1/webhooks", tag = "webhooks",
    request_body(content = NewWebhookBody, example = json!({
        "name": "on-call", "url": "https://hooks.example.com/services/1", "shape": "slack",
        "severities": ["breaking"], "environments": ["production"],
    })),
    responses((status = 201, description = "The webhook and its secret.", body = wire::WebhookWithSecret)),
    extensions(("x-problems" = json!(["webhook-exists", "bad-filter", "secret-shown-once"]))),
)]
pub(super) async fn create_webhook(
    By { app, actor }: By,
    Body(body): Body<NewWebhookBody>,
) -> Result<Response, Error> {
    let NewWebhookBody { name, url: HookUrl(url), shape, kinds, severities, environments, catalogs } = body;
    let filter = Filter { kinds, severities, environments, catalogs };
    let made = app.add_webhook(NewWebhook { name, url, shape, filter, secret: None }, &actor).await?;
    let location = format!("/api/v1/webhooks/{}", made.webhook.name);
    let headers = [(header::LOCATION, location), (header::CACHE_CONTROL, "no-store".to_owned())];
    Ok((StatusCode::CREATED, headers, Json(wire::WebhookWithSecret::from(made))).into_response())
}

/// Reads one webhook.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{webhook}", tag = "webhooks",
    params(("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call")),
    responses((status = 200, description = "The webhook.", body = wire::Webhook)),
    extensions(("x-problems" = json!(["unknown-webhook"]))),
)]
pub(super) async fn get_webhook(
    By { app, .. }: By,
    Path(name): Path<WebhookName>,
) -> Result<Tagged<wire::Webhook>, Error> {
    Ok(Tagged(app.webhook(&name).await?.into()))
}

/// What is to become of a webhook; what is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhookPatch {
    #[schema(value_type = Option<schema::WebhookUrl>)]
    url: Option<HookUrl>,
    #[schema(value_type = Option<schema::WebhookShape>)]
    shape: Option<Shape>,
    #[schema(value_type = Option<Vec<schema::EventKind>>)]
    kinds: Option<Vec<EventKind>>,
    #[schema(value_type = Option<Vec<schema::Level>>)]
    severities: Option<Vec<Verdict>>,
    #[schema(value_type = Option<Vec<schema::EnvironmentName>>)]
    environments: Option<Vec<EnvironmentName>>,
    #[schema(value_type = Option<Vec<schema::CatalogName>>)]
    catalogs: Option<Vec<CatalogName>>,
    /// What happens while it is disabled is not told later; what waits already is.
    #[schema(value_type = Option<schema::WebhookState>)]
    state: Option<State>,
}

/// Changes a webhook, or stops and starts it.
#[utoipa::path(
    patch, path = "/api/v1/webhooks/{webhook}", tag = "webhooks",
    params(("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call")),
    request_body(content = WebhookPatch, example = json!({"severities": ["breaking", "undecided"], "state": "active"})),
    responses((status = 200, description = "The webhook as it is now.", body = wire::Webhook)),
    extensions(("x-problems" = json!(["unknown-webhook", "bad-filter", "stale-etag"]))),
)]
pub(super) async fn change_webhook(
    By { app, actor }: By,
    Path(name): Path<WebhookName>,
    if_match: IfMatch,
    Body(body): Body<WebhookPatch>,
) -> Result<Tagged<wire::Webhook>, Error> {
    let seen = seen(&app, &name, &if_match).await?;
    let WebhookPatch { url, shape, kinds, severities, environments, catalogs, state } = body;
    let old = seen.filter.clone();
    let filter = Filter {
        kinds: kinds.unwrap_or(old.kinds),
        severities: severities.unwrap_or(old.severities),
        environments: environments.unwrap_or(old.environments),
        catalogs: catalogs.unwrap_or(old.catalogs),
    };
    let change = WebhookChange { url: url.map(|HookUrl(url)| url), shape, filter: Some(filter), state };
    Ok(Tagged(app.change_webhook(seen, change, &actor).await?.into()))
}

/// Forgets a webhook, with what was sent to it and what waits.
#[utoipa::path(
    delete, path = "/api/v1/webhooks/{webhook}", tag = "webhooks",
    params(("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call")),
    responses((status = 204, description = "It is gone.")),
    extensions(("x-problems" = json!(["unknown-webhook", "stale-etag"]))),
)]
pub(super) async fn remove_webhook(
    By { app, actor }: By,
    Path(name): Path<WebhookName>,
    if_match: IfMatch,
) -> Result<StatusCode, Error> {
    let seen = seen(&app, &name, &if_match).await?;
    app.remove_webhook(&seen, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A rotation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RotateBody {
    /// How many seconds messages are signed with the old secret as well; a day where absent, at most 30 days.
    #[schema(minimum = 0, maximum = 2_592_000)]
    overlap_seconds: Option<u32>,
}

/// Gives a webhook a new secret.
///
/// Until the overlap ends, messages have a signature of each, so that a receiver can change over when it likes.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/rotate", tag = "webhooks",
    params(("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call")),
    request_body(content = RotateBody, example = json!({"overlapSeconds": 3600})),
    responses((status = 200, description = "The webhook and its new secret.", body = wire::WebhookWithSecret)),
    extensions(("x-problems" = json!(["unknown-webhook", "bad-overlap", "stale-etag", "secret-shown-once"]))),
)]
pub(super) async fn rotate_webhook(
    By { app, actor }: By,
    Path(name): Path<WebhookName>,
    if_match: IfMatch,
    Body(body): Body<RotateBody>,
) -> Result<Response, Error> {
    let seen = seen(&app, &name, &if_match).await?;
    let overlap = body.overlap_seconds.map_or(OVERLAP, |seconds| TimeDelta::seconds(seconds.into()));
    let rotated = wire::WebhookWithSecret::from(app.rotate_webhook(seen, None, overlap, &actor).await?);
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(rotated)).into_response())
}

/// Nothing needs to be said.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NothingBody {}

/// Sends a test message to a webhook, whatever its filter.
///
/// It goes the way of all messages: look at the deliveries for what came of it.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/ping", tag = "webhooks",
    params(("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call")),
    request_body(content = NothingBody, example = json!({})),
    responses((status = 204, description = "It will be sent.")),
    extensions(("x-problems" = json!(["unknown-webhook", "webhook-disabled"]))),
)]
pub(super) async fn ping_webhook(
    By { app, actor }: By,
    Path(name): Path<WebhookName>,
    Body(NothingBody {}): Body<NothingBody>,
) -> Result<StatusCode, Error> {
    app.ping_webhook(&name, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DeliveriesQuery {
    /// Only those that stand so.
    #[param(value_type = Option<schema::DeliveryStatus>)]
    status: Option<DeliveryStatus>,
    /// How many at most.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// The `next` of the page before.
    cursor: Option<String>,
}

/// Lists what was sent to a webhook and what waits, the newest first.
///
/// What ended is forgotten after 30 days.
#[utoipa::path(
    get, path = "/api/v1/webhooks/{webhook}/deliveries", tag = "webhooks",
    params(("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call"), DeliveriesQuery),
    responses((status = 200, description = "A page of deliveries.", body = wire::Items<wire::Delivery>)),
    extensions(("x-problems" = json!(["unknown-webhook"]))),
)]
pub(super) async fn list_deliveries(
    By { app, .. }: By,
    Path(name): Path<WebhookName>,
    Query(query): Query<DeliveriesQuery>,
    uri: Uri,
) -> Result<Response, Error> {
    let list = format!("webhooks/{name}/deliveries");
    let list = List::<Reverse<i64>>::new(list, uri, query.limit, query.cursor.as_deref())?;
    let page = app.deliveries_page(&name, query.status, &list.slice).await?;
    Ok(list.answer::<_, wire::Delivery>(page))
}

/// A delivery's number in a path.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct DeliveryId(i64);

impl TryFrom<String> for DeliveryId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let plain = (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let number = if plain { text.parse().ok() } else { None };
        number.map(Self).ok_or_else(|| format!("`{text}` is no number of a delivery"))
    }
}

/// Sends a message once more.
///
/// It keeps its `webhook-id`: a receiver that took it before knows it again.
#[utoipa::path(
    post, path = "/api/v1/webhooks/{webhook}/deliveries/{delivery}/resend", tag = "webhooks",
    params(
        ("webhook" = schema::WebhookName, Path, description = "The webhook's name.", example = "on-call"),
        ("delivery" = schema::DeliveryNumber, Path, description = "The delivery's number.", example = "7"),
    ),
    request_body(content = NothingBody, example = json!({})),
    responses((status = 202, description = "The delivery, which waits again.", body = wire::Delivery)),
    extensions(("x-problems" = json!(["unknown-webhook", "unknown-delivery", "webhook-disabled"]))),
)]
pub(super) async fn resend_delivery(
    By { app, actor }: By,
    Path((name, delivery)): Path<(WebhookName, DeliveryId)>,
    Body(NothingBody {}): Body<NothingBody>,
) -> Result<Response, Error> {
    let delivery = app.resend(&name, delivery.0, &actor).await?;
    Ok((StatusCode::ACCEPTED, Json(wire::Delivery::from(delivery))).into_response())
}

/// The webhook, as the caller saw it.
async fn seen(app: &App, name: &WebhookName, if_match: &IfMatch) -> Result<Webhook, Error> {
    let webhook = app.webhook(name).await?;
    if_match.check(&format!("webhook `{name}`"), &tag(&wire::Webhook::from(webhook.clone()))?)?;
    Ok(webhook)
}
