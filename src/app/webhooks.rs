//! Webhooks: making, changing and trying them. What is sent to them is [`super::messenger`]'s business.
//!
//! A secret that is made here is answered once, and kept in the database, for whoever signs has to know it. Who does not
//! want that refers to a file or a variable in place of it, on the command line, which has rights to both anyway: a caller
//! of the API must not have the service read files.

use std::cmp::Reverse;

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{
    App, AppError, Kind,
    access::Right,
    lists::{Page, Slice},
};
use crate::{
    catalog::{
        server::Symbolic,
        webhook::{Delivery, DeliveryStatus, Filter, PINGED, Secret, Shape, State, Webhook, message},
    },
    deliver,
    name::WebhookName,
};

/// The most entries of one list in a filter.
const MOST: usize = 100;
/// The longest URL; browsers and proxies take no longer ones either.
const URL_BYTES: usize = 2_000;
/// How long an old secret counts beside a new one where nobody says.
pub const OVERLAP: TimeDelta = TimeDelta::days(1);
/// The longest that it may.
const LONGEST_OVERLAP: TimeDelta = TimeDelta::days(30);

/// A webhook to be made.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    /// Its name.
    pub name: WebhookName,
    /// Where messages are sent.
    pub url: Symbolic,
    /// In which form.
    pub shape: Shape,
    /// What it is told.
    pub filter: Filter,
    /// What says the secret; one is made and answered where nothing does.
    pub secret: Option<Symbolic>,
}

/// What is to become of a webhook; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct WebhookChange {
    /// Where messages are sent.
    pub url: Option<Symbolic>,
    /// In which form.
    pub shape: Option<Shape>,
    /// What it is told.
    pub filter: Option<Filter>,
    /// Whether anything is sent.
    pub state: Option<State>,
}

/// A webhook with a secret that was made for it.
#[derive(Debug, Clone)]
pub struct WithSecret {
    /// The webhook.
    pub webhook: Webhook,
    /// Shown this once; nothing where references say it.
    pub secret: Option<String>,
}

impl App {
    /// Webhooks by name.
    ///
    /// # Errors
    /// Where the store fails.
    pub async fn webhooks_page(
        &self,
        slice: &Slice<WebhookName>,
    ) -> Result<Page<Webhook, WebhookName>, AppError> {
        let rows = self.store.webhooks(slice.after.as_ref(), slice.and_one()).await?;
        Ok(Page::of(rows, slice.limit, |webhook| webhook.name.clone()))
    }

    /// One webhook.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub async fn webhook(&self, name: &WebhookName) -> Result<Webhook, AppError> {
        if let Some(webhook) = self.store.webhook(name).await? {
            return Ok(webhook);
        }
        let known: Vec<String> =
            self.store.webhooks(None, MOST).await?.into_iter().map(|w| w.name.into()).collect();
        Err(AppError::unknown("webhook", "unknown-webhook", name.as_str(), &known))
    }

    /// Makes a webhook. It is told what happens from now on.
    ///
    /// # Errors
    /// Where the name is taken, or the URL or the secret can never be used.
    pub async fn add_webhook(&self, new: NewWebhook, actor: &str) -> Result<WithSecret, AppError> {
        self.permit_whole(Right::Administer)?;
        let NewWebhook { name, url, shape, filter, secret } = new;
        checked_url(&url)?;
        checked_filter(&filter)?;
        let (kept, made) = secret_of(secret)?;
        let webhook = Webhook {
            name,
            url,
            shape,
            filter,
            secrets: vec![kept],
            state: State::Active,
            because: None,
            revision: 1,
            created_by: actor.to_owned(),
            created_at: self.now(),
        };
        let event = self.event(actor, "webhook.created", webhook.subject(), told(&webhook));
        if !self.store.add_webhook(&webhook, event).await? {
            let message = format!("there is a webhook `{}` already", webhook.name);
            return Err(AppError::new(Kind::Conflict, "webhook-exists", message)
                .help("change that one, or choose another name"));
        }
        Ok(WithSecret { webhook, secret: made })
    }

    /// Changes a webhook that stands as it was seen.
    ///
    /// # Errors
    /// Where it stands otherwise by now, or the URL can never be used.
    pub async fn change_webhook(
        &self,
        seen: Webhook,
        change: WebhookChange,
        actor: &str,
    ) -> Result<Webhook, AppError> {
        self.permit_whole(Right::Administer)?;
        let mut webhook = seen.clone();
        if let Some(url) = change.url {
            checked_url(&url)?;
            webhook.url = url;
        }
        if let Some(filter) = change.filter {
            checked_filter(&filter)?;
            webhook.filter = filter;
        }
        webhook.shape = change.shape.unwrap_or(webhook.shape);
        if let Some(state) = change.state.filter(|state| *state != webhook.state) {
            webhook.state = state;
            webhook.because = None;
        }
        if webhook == seen {
            return Ok(webhook);
        }
        webhook.revision += 1;
        let event = self.event(actor, "webhook.changed", webhook.subject(), told(&webhook));
        self.put_webhook(webhook, event).await
    }

    /// Signs with a new secret from now on, and with those before it as well until they end.
    ///
    /// # Errors
    /// Where the webhook stands otherwise by now than it was seen, or the overlap is too long.
    pub async fn rotate_webhook(
        &self,
        seen: Webhook,
        secret: Option<Symbolic>,
        overlap: TimeDelta,
        actor: &str,
    ) -> Result<WithSecret, AppError> {
        self.permit_whole(Right::Administer)?;
        if !(TimeDelta::zero()..=LONGEST_OVERLAP).contains(&overlap) {
            let message = format!("an old secret counts for 0 to {} days longer", LONGEST_OVERLAP.num_days());
            return Err(AppError::new(Kind::Invalid, "bad-overlap", message));
        }
        let (now, mut webhook) = (self.now(), seen);
        let (kept, made) = secret_of(secret)?;
        let until = now + overlap;
        let older = std::mem::take(&mut webhook.secrets)
            .into_iter()
            .map(|old| Secret { until: Some(old.until.map_or(until, |earlier| earlier.min(until))), ..old });
        webhook.secrets = std::iter::once(kept).chain(older.filter(|old| old.until > Some(now))).collect();
        webhook.revision += 1;
        let event = self.event(actor, "webhook.rotated", webhook.subject(), json!({ "until": until }));
        Ok(WithSecret { webhook: self.put_webhook(webhook, event).await?, secret: made })
    }

    /// Forgets a webhook that stands as it was seen, with its deliveries.
    ///
    /// # Errors
    /// Where it stands otherwise by now.
    pub async fn remove_webhook(&self, seen: &Webhook, actor: &str) -> Result<(), AppError> {
        self.permit_whole(Right::Administer)?;
        let event = self.event(actor, "webhook.removed", seen.subject(), told(seen));
        match self.store.remove_webhook(&seen.name, seen.revision, event).await? {
            true => Ok(()),
            false => Err(moved(&seen.name)),
        }
    }

    /// Tells a webhook, whatever its filter, that it is heard.
    ///
    /// # Errors
    /// Where it does not exist or nothing is sent to it.
    pub async fn ping_webhook(&self, name: &WebhookName, actor: &str) -> Result<(), AppError> {
        self.permit_whole(Right::Administer)?;
        let webhook = self.webhook(name).await?;
        if webhook.state == State::Disabled {
            return Err(disabled(&webhook));
        }
        let event = self.event(actor, PINGED, webhook.subject(), json!({}));
        Ok(self.store.note(event).await?)
    }

    /// What was sent to a webhook and what waits, the newest first.
    ///
    /// # Errors
    /// Where it does not exist.
    pub async fn deliveries_page(
        &self,
        name: &WebhookName,
        status: Option<DeliveryStatus>,
        slice: &Slice<Reverse<i64>>,
    ) -> Result<Page<Delivery, Reverse<i64>>, AppError> {
        self.webhook(name).await?;
        let before = slice.after.map(|Reverse(id)| id);
        let rows = self.store.deliveries(name, status, before, slice.and_one()).await?;
        Ok(Page::of(rows, slice.limit, |delivery| Reverse(delivery.id)))
    }

    /// Has a message sent once more, under the id that it had: a receiver that took it knows it again.
    ///
    /// # Errors
    /// Where there is no such delivery, or nothing is sent to the webhook.
    pub async fn resend(&self, name: &WebhookName, id: i64, actor: &str) -> Result<Delivery, AppError> {
        self.permit_whole(Right::Administer)?;
        let webhook = self.webhook(name).await?;
        if webhook.state == State::Disabled {
            return Err(disabled(&webhook));
        }
        let Some(delivery) = self.store.delivery(name, id).await? else { return Err(no_delivery(name, id)) };
        let data = json!({ "delivery": id, "event": delivery.event });
        let event = self.event(actor, "webhook.resent", webhook.subject(), data);
        if !self.store.resend(name, id, self.now(), event).await? {
            return Err(no_delivery(name, id));
        }
        self.store.delivery(name, id).await?.ok_or_else(|| no_delivery(name, id))
    }

    async fn put_webhook(
        &self,
        webhook: Webhook,
        event: crate::catalog::event::NewEvent,
    ) -> Result<Webhook, AppError> {
        match self.store.change_webhook(&webhook, event).await? {
            true => Ok(webhook),
            false => Err(moved(&webhook.name)),
        }
    }
}

/// A webhook's URL as it may be shown: scheme and host, because its path is often all that keeps strangers out.
#[must_use]
pub fn shown_url(webhook: &Webhook) -> String {
    let text = webhook.url.as_str();
    if text.starts_with("${") {
        // What a reference says is not known here.
        return "${…}".to_owned();
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    format!("{scheme}://{}/…", host.rsplit('@').next().unwrap_or_default())
}

/// What the log says of a webhook.
fn told(webhook: &Webhook) -> Value {
    json!({
        "to": shown_url(webhook), "shape": webhook.shape, "filter": webhook.filter, "state": webhook.state,
    })
}

/// What is kept of a secret, and the secret itself where it was made here.
fn secret_of(said: Option<Symbolic>) -> Result<(Secret, Option<String>), AppError> {
    if let Some(text) = said {
        if text.is_literal() {
            let message = "the secret stands there in clear";
            return Err(AppError::new(Kind::Invalid, "secret-in-clear", message).help(
                "refer to it: `${file:/run/secrets/hook}` or `${NAME}`; or leave it out, and one is made",
            ));
        }
        return Ok((Secret { text, until: None }, None));
    }
    let made = message::secret(&super::access::random()?);
    Ok((Secret { text: Symbolic::literal(&made), until: None }, Some(made)))
}

fn checked_url(url: &Symbolic) -> Result<(), AppError> {
    let invalid = |cause: String| {
        AppError::new(Kind::Invalid, "invalid-url", format!("the URL of the webhook {cause}"))
            .help("write it whole: `https://receiver.example/path`")
    };
    if !url.is_literal() {
        // What its references say is known when something is sent.
        return Ok(());
    }
    let text = url.resolve(|_| None).unwrap_or_default();
    check_url(&text).map_err(|cause| invalid(cause.to_owned()))
}

/// Whether messages can be sent to a URL.
///
/// # Errors
/// Why not.
pub fn check_url(url: &str) -> Result<(), &'static str> {
    if url.len() > URL_BYTES {
        return Err("has more than 2,000 bytes");
    }
    deliver::check(url)
}

fn checked_filter(filter: &Filter) -> Result<(), AppError> {
    let Filter { kinds, severities, environments, catalogs } = filter;
    let longest = [kinds.len(), severities.len(), environments.len(), catalogs.len()].into_iter().max();
    if longest > Some(MOST) {
        let message = format!("a list of the filter has more than {MOST} entries");
        return Err(AppError::new(Kind::Invalid, "bad-filter", message).help("ask for families of kinds"));
    }
    Ok(())
}

fn moved(name: &WebhookName) -> AppError {
    let message = format!("webhook `{name}` was changed since it was read");
    AppError::new(Kind::Stale, "stale-etag", message).help("read it again, then repeat the change on that")
}

fn disabled(webhook: &Webhook) -> AppError {
    let because = webhook.because.as_deref().map(|b| format!(": {b}")).unwrap_or_default();
    let message = format!("webhook `{}` is disabled{because}", webhook.name);
    AppError::new(Kind::Conflict, "webhook-disabled", message).help("set its state to `active` first")
}

fn no_delivery(name: &WebhookName, id: i64) -> AppError {
    let message = format!("webhook `{name}` has no delivery {id}");
    AppError::new(Kind::NotFound, "unknown-delivery", message).help("look at its deliveries")
}
