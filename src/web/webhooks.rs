//! `/webhooks` and `/webhooks/{webhook}`: who is told what happens, what was sent, and sending it again.
//!
//! A secret stands on the page that answers the form that made it, and on no other. A URL is shown by its host alone.

use std::cmp::Reverse;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, Path, Query, administers, page, see, words},
};
use crate::{
    app::{
        App, AppError, Kind,
        lists::Slice,
        webhooks::{self, NewWebhook, OVERLAP, WebhookChange},
    },
    catalog::{
        server::Symbolic,
        webhook::{Delivery, DeliveryStatus, Filter, Shape, State, Webhook},
    },
    diff::{Level, Verdict},
    guard::Acting,
    name::{InvalidName, WebhookName},
};

/// How many webhooks stand on a page; the API has all of them.
const SHOWN: usize = 200;
/// Deliveries of one page.
const DELIVERIES: usize = 50;

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Webhooks {
    frame: Frame,
    admin: bool,
    webhooks: Vec<Webhook>,
    more: bool,
    /// One that was just made, with its secret.
    made: Option<(WebhookName, String)>,
    notice: Option<(String, String)>,
    typed: NewWebhookForm,
}

impl Webhooks {
    const LEVELS: [Level; 4] = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible];

    fn to(webhook: &Webhook) -> String {
        webhooks::shown_url(webhook)
    }

    /// What it is told, in words.
    fn told(webhook: &Webhook) -> String {
        fn all<T: ToString>(names: &[T]) -> String {
            names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        let Filter { kinds, severities, environments, catalogs } = &webhook.filter;
        let mut parts = vec![if kinds.is_empty() { "everything".to_owned() } else { all(kinds) }];
        if !severities.is_empty() {
            parts.push(format!("judged {}", all(severities)));
        }
        if !environments.is_empty() {
            parts.push(format!("in {}", all(environments)));
        }
        if !catalogs.is_empty() {
            parts.push(format!("of {}", all(catalogs)));
        }
        parts.join(", ")
    }
}

/// Every webhook.
pub(super) async fn show_webhooks(Acting { app, .. }: Acting) -> Result<Response, Error> {
    shown(&app, None, None, NewWebhookForm::default()).await
}

/// A webhook to be made.
#[derive(Default, Deserialize)]
pub(super) struct NewWebhookForm {
    name: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    shape: Shape,
    #[serde(default)]
    kinds: String,
    breaking: Option<String>,
    undecided: Option<String>,
    risky: Option<String>,
    compatible: Option<String>,
    #[serde(default)]
    environments: String,
    #[serde(default)]
    catalogs: String,
}

impl NewWebhookForm {
    fn has(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Breaking => &self.breaking,
            Verdict::Undecided => &self.undecided,
            Verdict::Risky => &self.risky,
            Verdict::Compatible => &self.compatible,
        }
        .is_some()
    }

    fn webhook(&self) -> Result<NewWebhook, AppError> {
        let invalid = |e: InvalidName| AppError::new(Kind::Invalid, "invalid-name", e.to_string());
        let url = self.url.trim();
        webhooks::check_url(url)
            .map_err(|cause| AppError::new(Kind::Invalid, "invalid-url", format!("the URL {cause}")))?;
        Ok(NewWebhook {
            name: self.name.trim().parse().map_err(invalid)?,
            url: Symbolic::literal(url),
            shape: self.shape,
            filter: Filter {
                kinds: words(&self.kinds)?,
                severities: Webhooks::LEVELS.into_iter().filter(|level| self.has(level)).collect(),
                environments: words(&self.environments)?,
                catalogs: words(&self.catalogs)?,
            },
            secret: None,
        })
    }
}

/// Makes a webhook and shows its secret, once.
pub(super) async fn create_webhook(
    Acting { app, actor }: Acting,
    Form(form): Form<NewWebhookForm>,
) -> Result<Response, Error> {
    let made = match form.webhook() {
        Ok(new) => app.add_webhook(new, &actor).await,
        Err(e) => Err(e),
    };
    match made {
        Ok(made) => {
            let secret = made.secret.map(|secret| (made.webhook.name, secret));
            shown(&app, None, secret, NewWebhookForm::default()).await
        }
        Err(e) => shown(&app, Some(e), None, form).await,
    }
}

async fn shown(
    app: &App,
    failure: Option<AppError>,
    made: Option<(WebhookName, String)>,
    typed: NewWebhookForm,
) -> Result<Response, Error> {
    let found = app.webhooks_page(&Slice { after: None, limit: SHOWN }).await?;
    let (webhooks, more) = (found.items, found.next.is_some());
    let status = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let notice = failure.map(error::told);
    let frame = Frame::new(app, "/tokens");
    Ok(page(status, &Webhooks { frame, admin: administers(app), webhooks, more, made, notice, typed }))
}

#[derive(Template)]
#[template(path = "webhook.html")]
struct WebhookPage {
    frame: Frame,
    webhook: Webhook,
    status: Option<DeliveryStatus>,
    deliveries: Vec<Delivery>,
    /// Whether this is the first page.
    first: bool,
    next: Option<i64>,
    /// A secret that was just made.
    secret: Option<String>,
    notice: Option<(String, String)>,
}

impl WebhookPage {
    const STATUSES: [DeliveryStatus; 3] =
        [DeliveryStatus::Waiting, DeliveryStatus::Delivered, DeliveryStatus::Failed];

    fn to(&self) -> String {
        webhooks::shown_url(&self.webhook)
    }

    fn told(&self) -> String {
        Webhooks::told(&self.webhook)
    }

    /// The page of deliveries behind this one.
    fn older(&self, before: &i64) -> String {
        let status = self.status.map(|status| format!("status={}&", status.as_str())).unwrap_or_default();
        format!("/webhooks/{}?{status}before={before}", self.webhook.name)
    }
}

#[derive(Default, Deserialize)]
pub(super) struct DeliveriesQuery {
    status: Option<DeliveryStatus>,
    before: Option<i64>,
}

/// One webhook with what was sent to it.
pub(super) async fn show_webhook(
    Acting { app, .. }: Acting,
    Path(name): Path<WebhookName>,
    Query(query): Query<DeliveriesQuery>,
) -> Result<Response, Error> {
    one(&app, &name, query, None, None).await
}

/// Sends a test message.
pub(super) async fn ping_webhook(
    Acting { app, actor }: Acting,
    Path(name): Path<WebhookName>,
) -> Result<Response, Error> {
    let done = app.ping_webhook(&name, &actor).await;
    then(&app, &name, done.map(|()| None)).await
}

/// Sends a message once more, under the id that it had.
pub(super) async fn resend_delivery(
    Acting { app, actor }: Acting,
    Path((name, delivery)): Path<(WebhookName, i64)>,
) -> Result<Response, Error> {
    let done = app.resend(&name, delivery, &actor).await;
    then(&app, &name, done.map(|_| None)).await
}

/// A change of a webhook that stands as whoever sent it saw it.
#[derive(Deserialize)]
pub(super) struct SeenForm {
    revision: i64,
}

/// Sends what happens from now on, or nothing.
pub(super) async fn set_state(
    Acting { app, actor }: Acting,
    Path((name, state)): Path<(WebhookName, State)>,
    Form(form): Form<SeenForm>,
) -> Result<Response, Error> {
    let done = match seen(&app, &name, form.revision).await {
        Ok(seen) => {
            let change = WebhookChange { state: Some(state), ..WebhookChange::default() };
            app.change_webhook(seen, change, &actor).await.map(|_| None)
        }
        Err(e) => Err(e),
    };
    then(&app, &name, done).await
}

/// Signs with a new secret, and shows it, once. The old one counts for a day beside it.
pub(super) async fn rotate_webhook(
    Acting { app, actor }: Acting,
    Path(name): Path<WebhookName>,
    Form(form): Form<SeenForm>,
) -> Result<Response, Error> {
    let done = match seen(&app, &name, form.revision).await {
        Ok(seen) => app.rotate_webhook(seen, None, OVERLAP, &actor).await.map(|made| made.secret),
        Err(e) => Err(e),
    };
    then(&app, &name, done).await
}

/// Forgets a webhook, with what was sent to it and what waits.
pub(super) async fn remove_webhook(
    Acting { app, actor }: Acting,
    Path(name): Path<WebhookName>,
    Form(form): Form<SeenForm>,
) -> Result<Response, Error> {
    let done = match seen(&app, &name, form.revision).await {
        Ok(seen) => app.remove_webhook(&seen, &actor).await,
        Err(e) => Err(e),
    };
    match done {
        Ok(()) => Ok(see("/webhooks")),
        Err(e) => then(&app, &name, Err(e)).await,
    }
}

/// A webhook that stands as it was seen.
async fn seen(app: &App, name: &WebhookName, revision: i64) -> Result<Webhook, AppError> {
    let webhook = app.webhook(name).await?;
    if webhook.revision == revision {
        return Ok(webhook);
    }
    let message = format!("webhook `{name}` was changed since this page was made");
    Err(AppError::new(Kind::Stale, "stale-etag", message).help("look at it as it is now, then send that"))
}

/// The page again: with a secret that was made, with what went wrong, or else where a reload sends nothing.
async fn then(
    app: &App,
    name: &WebhookName,
    done: Result<Option<String>, AppError>,
) -> Result<Response, Error> {
    match done {
        Ok(None) => Ok(see(&format!("/webhooks/{name}"))),
        Ok(secret) => one(app, name, DeliveriesQuery::default(), None, secret).await,
        Err(e) => one(app, name, DeliveriesQuery::default(), Some(e), None).await,
    }
}

async fn one(
    app: &App,
    name: &WebhookName,
    DeliveriesQuery { status, before }: DeliveriesQuery,
    failure: Option<AppError>,
    secret: Option<String>,
) -> Result<Response, Error> {
    let webhook = app.webhook(name).await?;
    let slice = Slice { after: before.map(Reverse), limit: DELIVERIES };
    let found = app.deliveries_page(name, status, &slice).await?;
    let code = failure.as_ref().map_or(StatusCode::OK, |e| error::kind(e.kind).0);
    let shown = WebhookPage {
        frame: Frame::new(app, "/tokens"),
        webhook,
        status,
        deliveries: found.items,
        first: before.is_none(),
        next: found.next.map(|Reverse(id)| id),
        secret,
        notice: failure.map(error::told),
    };
    Ok(page(code, &shown))
}
