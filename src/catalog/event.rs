//! The audit log's chain: each event carries the digest of the one before it, so that a changed, dropped or inserted
//! row shows.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Event, statement::Seal};
use crate::json::Digest;

/// By which way a write came in: what stands behind the name of its [actor](Event::actor).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// What proved the actor's name: `local` (whoever may open the database), `token:ID`, `session:ID` (signed in
    /// with that token), `oidc:ISSUER`, `link`.
    pub auth: String,
    /// The person that an agent or a build says it acts for; a claim.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_behalf_of: Option<String>,
    /// The request, as its answer and the service's log call it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_id: Option<String>,
    /// The key under which the caller may repeat the request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idempotency_key: Option<String>,
}

/// An event that has no place in the chain yet.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// What; see [`Event::kind`].
    pub kind: &'static str,
    /// The object it happened to.
    pub subject: String,
    /// The particulars, an object.
    pub data: Value,
    /// By which way; see [`Event::origin`].
    pub origin: Option<Origin>,
    /// What is signed together with it, where anything is.
    pub seal: Option<Seal>,
}

impl NewEvent {
    /// The same with one particular more, for what is known only inside the transaction (a new number).
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Value::Object(data) = &mut self.data {
            data.insert(name.to_owned(), value.into());
        }
        self
    }

    /// The same with what is signed together with it.
    #[must_use]
    pub fn sealed(self, seal: Option<Seal>) -> Self {
        Self { seal, ..self }
    }
}

/// What the first event names as the one before it.
#[must_use]
pub fn chain_start() -> Digest {
    Digest::of_bytes(b"")
}

impl Event {
    /// The particulars for people: what does not apply is left out, digests are short. [`Event::data`] is whole.
    #[must_use]
    pub fn particulars(&self) -> Vec<(&str, String)> {
        let members = self.data.as_object().into_iter().flatten();
        members.filter_map(|(key, value)| Some((key.as_str(), said(value)?))).collect()
    }

    /// Puts an event behind `last`, or at the start.
    #[must_use]
    pub fn chained(new: NewEvent, last: Option<(i64, Digest)>) -> Self {
        let (seq, previous) = last.map_or_else(|| (1, chain_start()), |(seq, digest)| (seq + 1, digest));
        let NewEvent { at, actor, kind, subject, data, origin, seal: _ } = new;
        let mut event = Self {
            seq,
            at,
            actor,
            kind: kind.to_owned(),
            subject,
            data,
            origin,
            digest: previous.clone(), // replaced in the next line: a digest is over all but itself
            previous,
        };
        event.digest = event.own_digest();
        event
    }

    /// The digest that this event should have.
    #[must_use]
    pub fn own_digest(&self) -> Digest {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(members) = &mut value {
            members.remove("digest");
        }
        Digest::of(&value)
    }

    /// Why this event does not belong behind `last`, if it does not.
    #[must_use]
    pub fn fault(&self, last: Option<(i64, &Digest)>) -> Option<String> {
        let start = chain_start();
        let (seq, previous) = last.map_or((1, &start), |(seq, digest)| (seq + 1, digest));
        if self.seq > seq {
            return Some(format!("event {seq} is missing"));
        }
        if self.seq < seq {
            return Some(format!("it stands where event {seq} belongs"));
        }
        if &self.previous != previous {
            return Some("it does not name the event before it".to_owned());
        }
        (self.own_digest() != self.digest).then(|| "its content is not what its digest says".to_owned())
    }
}

fn said(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::String(text) => Some(text.parse::<Digest>().map_or(text.clone(), |d| d.short().to_owned())),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => Some(value.to_string()),
    }
}
