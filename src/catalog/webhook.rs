//! Webhooks: who is told what happened, in which form, and when a delivery that failed is tried again.
//!
//! The log of events is what is told, so nothing is written twice and nothing is told that is not in the log. What is sent,
//! and how it is signed, is in [`message`].

pub mod message;

use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Event, server::Symbolic};
use crate::{
    diff::Verdict,
    json::Digest,
    name::{CatalogName, EnvironmentName, WebhookName},
};

/// The kind of event that the digest of a week is. It is told only to those who ask for it by this name.
pub const WEEKLY: &str = "digest.weekly";
/// The kind of event that is told to one webhook alone, to see whether it is heard.
pub const PINGED: &str = "webhook.pinged";
/// What the kinds begin with that are about webhooks themselves.
const ABOUT_WEBHOOKS: &str = "webhook.";

/// Who is told what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its name.
    pub name: WebhookName,
    /// Where messages are sent. The path of such a URL is often all that keeps strangers out, so it is shown to nobody.
    pub url: Symbolic,
    /// In which form.
    pub shape: Shape,
    /// What it is told.
    pub filter: Filter,
    /// What its messages are signed with; the newest first.
    pub secrets: Vec<Secret>,
    /// Whether anything is sent.
    pub state: State,
    /// Why nothing is sent, where that was not said by a person.
    pub because: Option<String>,
    /// Grows with every change.
    pub revision: i64,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
}

/// The form of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A CloudEvent 1.0 in structured JSON.
    #[default]
    Cloudevents,
    /// What Slack's incoming webhooks, and those that imitate them, show.
    Slack,
}

impl Shape {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cloudevents => "cloudevents",
            Self::Slack => "slack",
        }
    }
}

/// Whether anything is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is.
    Active,
    /// Nothing is, and what happens meanwhile is not told later.
    Disabled,
}

impl State {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }
}

/// Which events are told; all that is given has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filter {
    /// Kinds of events, exactly, or families of them with a period at the end; all but the digest of the week and what is
    /// about webhooks where there is none.
    #[serde(default)]
    pub kinds: Vec<EventKind>,
    /// Verdicts on what changes; whatever has no verdict does not fit.
    #[serde(default)]
    pub severities: Vec<Verdict>,
    /// Environments; whatever happens in none does not fit.
    #[serde(default)]
    pub environments: Vec<EnvironmentName>,
    /// Catalogs; whatever concerns none does not fit.
    #[serde(default)]
    pub catalogs: Vec<CatalogName>,
}

/// A kind of event, or what a family of them begins with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EventKind(String);

/// A text that is no kind of event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of event; one is written `draft.created`, a family of them `draft.`")]
pub struct InvalidKind(String);

impl TryFrom<String> for EventKind {
    type Error = InvalidKind;
    fn try_from(text: String) -> Result<Self, InvalidKind> {
        let plain = |part: &str| part.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let parts = text.split_once('.');
        let good = parts.is_some_and(|(family, rest)| !family.is_empty() && plain(family) && plain(rest));
        if good && text.len() <= 64 { Ok(Self(text)) } else { Err(InvalidKind(text)) }
    }
}

impl std::str::FromStr for EventKind {
    type Err = InvalidKind;
    fn from_str(text: &str) -> Result<Self, InvalidKind> {
        text.to_owned().try_into()
    }
}

impl From<EventKind> for String {
    fn from(kind: EventKind) -> Self {
        kind.0
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl EventKind {
    fn takes(&self, kind: &str) -> bool {
        if self.0.ends_with('.') { kind.starts_with(&self.0) } else { kind == self.0 }
    }
}

/// What messages are signed with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Secret {
    /// `whsec_` and the key in base64, or references that say it.
    pub text: Symbolic,
    /// How long messages are signed with it as well, where a newer one took its place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<DateTime<Utc>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("until", &self.until).finish_non_exhaustive()
    }
}

impl Webhook {
    /// The subject of events about it.
    #[must_use]
    pub fn subject(&self) -> String {
        subject(&self.name)
    }

    /// Whether it is told of an event.
    #[must_use]
    pub fn takes(&self, event: &Event) -> bool {
        // About itself it hears nothing: that a message failed must not lead to a message.
        if event.subject == self.subject() {
            return event.kind == PINGED;
        }
        self.filter.takes(event)
    }

    /// The secrets that count at a time.
    pub fn standing(&self, now: DateTime<Utc>) -> impl Iterator<Item = &Secret> {
        self.secrets.iter().filter(move |secret| secret.until.is_none_or(|until| now < until))
    }
}

/// The subject of events about a webhook.
#[must_use]
pub fn subject(name: &WebhookName) -> String {
    format!("webhook/{name}")
}

impl Filter {
    fn takes(&self, event: &Event) -> bool {
        let Facts { catalog, environment, verdict } = Facts::of(event);
        let about_webhooks = event.kind.starts_with(ABOUT_WEBHOOKS);
        let kind = match self.kinds.as_slice() {
            [] => event.kind != WEEKLY && !about_webhooks,
            kinds => kinds.iter().any(|kind| kind.takes(&event.kind)) && event.kind != PINGED,
        };
        let named = |names: &mut dyn Iterator<Item = &str>, name: Option<&str>| {
            let mut names = names.peekable();
            names.peek().is_none() || name.is_some_and(|name| names.any(|n| n == name))
        };
        kind && (self.severities.is_empty() || verdict.is_some_and(|v| self.severities.contains(&v)))
            && named(&mut self.environments.iter().map(EnvironmentName::as_str), environment)
            && named(&mut self.catalogs.iter().map(CatalogName::as_str), catalog)
    }
}

/// What an event is about, as filters ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts<'a> {
    catalog: Option<&'a str>,
    environment: Option<&'a str>,
    /// On the draft, or on what a move changes for whoever uses the environment.
    verdict: Option<Verdict>,
}

impl<'a> Facts<'a> {
    fn of(event: &'a Event) -> Self {
        let about = |what: &str| event.subject.strip_prefix(what)?.strip_prefix('/');
        let said = |name: &str| event.data.get(name).and_then(Value::as_str);
        let verdict = event.data.get("verdict").or_else(|| event.data.pointer("/grounds/verdict"));
        Self {
            catalog: about("catalog").or_else(|| said("catalog")),
            environment: about("environment").or_else(|| said("environment")),
            verdict: verdict.and_then(|v| Verdict::deserialize(v).ok()),
        }
    }
}

/// When a delivery that failed is tried again, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// After the first failure; twice that after each further one.
    pub first: TimeDelta,
    /// The longest pause.
    pub longest: TimeDelta,
    /// It is given up that long after it was made.
    pub give_up: TimeDelta,
}

impl Default for Retries {
    fn default() -> Self {
        Self { first: TimeDelta::seconds(10), longest: TimeDelta::minutes(20), give_up: TimeDelta::days(3) }
    }
}

impl Retries {
    /// When a delivery is tried again that failed so often, or nothing where it is given up. Many that failed at once are
    /// not tried again at once: up to a fifth of the pause differs by what is delivered.
    #[must_use]
    pub fn next(
        &self,
        message: &str,
        attempts: u32,
        since: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        /// The part of a pause that differs.
        const JITTER: i32 = 5;
        let doubled = 1_i32.checked_shl(attempts.saturating_sub(1)).filter(|n| *n > 0).unwrap_or(i32::MAX);
        let pause = self.first.checked_mul(doubled).map_or(self.longest, |pause| pause.min(self.longest));
        let digest = Digest::of_bytes(format!("{message} {attempts}").as_bytes());
        let digits = digest.hex().get(..4).and_then(|hex| i32::from_str_radix(hex, 16).ok()).unwrap_or(0);
        let jitter = pause / JITTER / 0x1_0000 * digits;
        (now - since < self.give_up).then(|| now + pause + jitter)
    }
}

/// One event for one webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// Its number.
    pub id: i64,
    /// Whom it is for.
    pub webhook: WebhookName,
    /// The number of the event.
    pub event: i64,
    /// What the event is.
    pub kind: String,
    /// How it stands.
    pub status: DeliveryStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was made, or asked for again by a person.
    pub since: DateTime<Utc>,
    /// When it is tried next, while it waits.
    pub due: Option<DateTime<Utc>>,
    /// What came of the last attempt.
    pub last: Option<Attempt>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryStatus {
    /// It was not taken yet.
    Waiting,
    /// The receiver answered with a 2xx status.
    Delivered,
    /// It is not tried any more.
    Failed,
}

impl DeliveryStatus {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }
}

/// What came of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// How the answer's body began, or why there was none.
    pub said: String,
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::event::NewEvent;

    /// An event that stands alone.
    pub(in crate::catalog) fn event(kind: &'static str, subject: &str, data: Value) -> Event {
        let at = "2026-11-30T12:00:00Z".parse().expect("a time");
        let new = NewEvent {
            at,
            actor: "ann".to_owned(),
            kind,
            subject: subject.to_owned(),
            data,
            origin: None,
            seal: None,
        };
        Event::chained(new, None)
    }

    fn webhook(filter: Value) -> Webhook {
        Webhook {
            name: "ops".parse().expect("a name"),
            url: Symbolic::literal("https://example.com/hook"),
            shape: Shape::Cloudevents,
            filter: serde_json::from_value(filter).expect("a filter"),
            secrets: Vec::new(),
            state: State::Active,
            because: None,
            revision: 1,
            created_by: "ann".to_owned(),
            created_at: "2026-11-30T12:00:00Z".parse().expect("a time"),
        }
    }

    #[test]
    fn a_webhook_is_told_what_fits_all_that_its_filter_names() {
        let draft = event("draft.created", "catalog/shop", json!({"verdict": "breaking"}));
        let promoted = event(
            "environment.promoted",
            "environment/production",
            json!({"catalog": "shop", "grounds": {"verdict": "breaking"}}),
        );
        let frozen = event("environment.frozen", "environment/production", json!({"catalog": null}));
        let listed = event("snapshot.recorded", "server/orders", json!({"outcome": "ok"}));
        let weekly = event(WEEKLY, "week/2026-W48", json!({}));
        let own = event("webhook.rotated", "webhook/ops", json!({}));
        let others = event("webhook.disabled", "webhook/other", json!({}));
        let ping = event(PINGED, "webhook/ops", json!({}));
        let all = [
            ("draft", draft),
            ("promoted", promoted),
            ("frozen", frozen),
            ("listed", listed),
            ("weekly", weekly),
            ("own", own),
            ("others", others),
            ("ping", ping),
        ];
        for (filter, expected) in [
            (json!({}), vec!["draft", "promoted", "frozen", "listed", "ping"]),
            (json!({"kinds": ["environment."]}), vec!["promoted", "frozen", "ping"]),
            (json!({"kinds": ["environment.frozen", "digest.weekly"]}), vec!["frozen", "weekly", "ping"]),
            (json!({"kinds": ["webhook."]}), vec!["others", "ping"]),
            (json!({"severities": ["breaking"]}), vec!["draft", "promoted", "ping"]),
            (json!({"severities": ["breaking"], "environments": ["production"]}), vec!["promoted", "ping"]),
            (json!({"severities": ["risky", "undecided"]}), vec!["ping"]),
            (json!({"environments": ["production"]}), vec!["promoted", "frozen", "ping"]),
            (json!({"environments": ["staging"]}), vec!["ping"]),
            (json!({"catalogs": ["shop"]}), vec!["draft", "promoted", "ping"]),
            (json!({"catalogs": ["shop"], "kinds": ["draft."]}), vec!["draft", "ping"]),
        ] {
            let webhook = webhook(filter.clone());
            let told: Vec<&str> =
                all.iter().filter(|(_, event)| webhook.takes(event)).map(|(name, _)| *name).collect();
            assert_eq!(told, expected, "{filter}");
        }
    }

    #[test]
    fn a_kind_is_a_word_with_a_family() {
        for (text, good) in [
            ("draft.created", true),
            ("environment.rolled-back", true),
            ("draft.", true),
            ("draft", false),
            (".created", false),
            ("", false),
            ("Draft.created", false),
            ("a.b.c", false),
            ("draft.*", false),
        ] {
            assert_eq!(text.parse::<EventKind>().is_ok(), good, "{text}");
        }
    }

    #[test]
    fn pauses_double_from_ten_seconds_to_twenty_minutes_and_end_after_three_days() {
        let since: DateTime<Utc> = "2026-11-30T12:00:00Z".parse().expect("a time");
        let retries = Retries::default();
        for (attempts, seconds) in [(1, 10), (2, 20), (3, 40), (7, 640), (8, 1_200), (9, 1_200), (200, 1_200)]
        {
            let next = retries.next("evt_1_abc", attempts, since, since).expect("it is tried again");
            let pause = next - since;
            let (least, most) = (TimeDelta::seconds(seconds), TimeDelta::seconds(seconds) * 6 / 5);
            assert!(least <= pause && pause <= most, "{attempts}: {pause}");
            assert_eq!(
                Some(next),
                retries.next("evt_1_abc", attempts, since, since),
                "the same for the same"
            );
        }
        let other = |id: &str| retries.next(id, 5, since, since);
        assert_ne!(other("evt_1_abc"), other("evt_2_abc"), "many that failed at once are tried apart");
        assert_eq!(retries.next("evt_1_abc", 300, since, since + TimeDelta::days(3)), None);
    }
}
