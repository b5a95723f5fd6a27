//! What is sent to a webhook: an event as a CloudEvent, or in the shape that Slack shows; and the signature over it.
//!
//! Signatures are those of Standard Webhooks 1.0.0 (`webhook-id`, `webhook-timestamp`, `webhook-signature`), which
//! receivers have libraries for. The same event has the same id and the same body however often it is sent.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{PINGED, Shape, WEEKLY};
use crate::{catalog::Event, diff::Verdict};
use serde::Deserialize as _;

/// How a secret begins.
const SECRET: &str = "whsec_";
/// The bytes that a key may have: the specification's bounds.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Slack cuts what is longer (3,000 characters a block).
const LONGEST_TEXT: usize = 2_500;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What a receiver knows it by, however often it comes.
    pub id: String,
    /// What the body is.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// The id of the message that an event is: its place in the log, and enough of its digest to tell the logs of several
/// services apart.
#[must_use]
pub fn id(event: &Event) -> String {
    format!("evt_{}_{}", event.seq, event.digest.short())
}

/// An event in the form that a webhook asks for.
#[must_use]
pub fn message(event: &Event, shape: Shape) -> Message {
    let (content_type, body) = match shape {
        Shape::Cloudevents => ("application/cloudevents+json", cloud_event(event)),
        Shape::Slack => ("application/json", slack(event)),
    };
    Message { id: id(event), content_type, body: body.to_string().into_bytes() }
}

/// A CloudEvent 1.0 in structured JSON. Its data is the event as the API shows it.
fn cloud_event(event: &Event) -> Value {
    json!({
        "specversion": "1.0",
        "type": format!("dev.toolpact.{}.v1", event.kind),
        "source": "/api/v1/events",
        "id": id(event),
        "time": event.at,
        "subject": event.subject,
        "datacontenttype": "application/json",
        // Texts, numbers and JSON always serialise.
        "data": serde_json::to_value(event).unwrap_or_default(),
    })
}

/// What Slack shows: a line of its own for notifications, and the same with particulars.
fn slack(event: &Event) -> Value {
    let headline = headline(event);
    let mut lines = vec![format!("*{}*", escaped(&headline))];
    if event.kind != WEEKLY {
        lines.extend(
            event
                .particulars()
                .into_iter()
                .filter(|(name, _)| {
                    matches!(
                        *name,
                        "catalog"
                            | "from"
                            | "to"
                            | "version"
                            | "verdict"
                            | "reason"
                            | "draft"
                            | "outcome"
                            | "tools"
                            | "requiredBump"
                            | "ruling"
                            | "because"
                    )
                })
                .map(|(name, value)| format!("{name}: {}", escaped(&value))),
        );
    } else {
        lines.extend(weekly(&event.data));
    }
    let mut text = lines.join("\n");
    if let Some((at, _)) = text.char_indices().nth(LONGEST_TEXT) {
        text.truncate(at);
        text.push('…');
    }
    json!({
        "text": escaped(&headline),
        "blocks": [
            { "type": "section", "text": { "type": "mrkdwn", "text": text } },
            { "type": "context", "elements": [{ "type": "mrkdwn", "text":
                escaped(&format!("toolpact · {} · by {} · {}", event.kind, event.actor, event.at.format("%Y-%m-%d %H:%M UTC"))) }] },
        ],
    })
}

/// An event in one line.
fn headline(event: &Event) -> String {
    let verdict = event.data.get("verdict").or_else(|| event.data.pointer("/grounds/verdict"));
    let mark = match verdict.and_then(|v| Verdict::deserialize(v).ok()) {
        Some(Verdict::Breaking) => ":red_circle: ",
        Some(Verdict::Undecided) => ":large_orange_circle: ",
        Some(Verdict::Risky) => ":large_yellow_circle: ",
        Some(Verdict::Compatible) => ":large_green_circle: ",
        None => "",
    };
    let subject = event.subject.replace('/', " ");
    let what = match event.kind.as_str() {
        PINGED => "toolpact is heard here".to_owned(),
        WEEKLY => format!("what happened in {subject}"),
        kind => {
            let verb = kind.split_once('.').map_or(kind, |(_, verb)| verb);
            let object = kind.split_once('.').map_or("", |(object, _)| object);
            let about = if event.subject.starts_with(object) { String::new() } else { format!("{object} ") };
            format!("{subject}: {about}{}", verb.replace('-', " "))
        }
    };
    format!("{mark}{what}")
}

/// The digest of a week as lines.
fn weekly(data: &Value) -> Vec<String> {
    let counted = |title: &str, counts: &Value| {
        let counts: Vec<String> = counts
            .as_object()
            .into_iter()
            .flatten()
            .map(|(what, count)| format!("{} {count}", escaped(what)))
            .collect();
        (!counts.is_empty()).then(|| format!("{title}: {}", counts.join(", ")))
    };
    let moves = data["moves"].as_array().into_iter().flatten().filter_map(|m| {
        let said = |name: &str| m[name].as_str().map(escaped);
        Some(format!("• {} {}: {} {}", said("environment")?, said("catalog")?, said("kind")?, said("to")?))
    });
    let pending = data["pending"].as_array().into_iter().flatten().filter_map(|d| {
        let said = |name: &str| d[name].as_str().map(escaped);
        Some(format!("• waits for review: {} d-{} ({})", said("catalog")?, d["draft"], said("verdict")?))
    });
    let mut lines: Vec<String> = [
        counted("drafts", &data["drafts"]),
        counted("listings", &data["listings"]),
        counted("events", &data["events"]),
    ]
    .into_iter()
    .flatten()
    .collect();
    lines.extend(moves);
    lines.extend(pending);
    lines
}

/// A text in Slack's mark-up that means itself (Slack, "Formatting text for app surfaces": these three and no others).
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A text that is no secret to sign with. The text itself stands in no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not written `whsec_` and 24 to 64 bytes in base64")]
pub struct InvalidSecret;

/// The key that a secret says.
///
/// # Errors
/// Where it is not written as Standard Webhooks has it.
pub fn key(secret: &str) -> Result<Vec<u8>, InvalidSecret> {
    let key = secret.strip_prefix(SECRET).and_then(|text| STANDARD.decode(text).ok());
    key.filter(|key| KEY_BYTES.contains(&key.len())).ok_or(InvalidSecret)
}

/// A secret from random bytes.
#[must_use]
pub fn secret(random: &[u8; 32]) -> String {
    format!("{SECRET}{}", STANDARD.encode(random))
}

/// The signatures of a message under each key, as its header has them.
#[must_use]
pub fn signatures(keys: &[Vec<u8>], id: &str, timestamp: i64, body: &[u8]) -> String {
    let signed = keys.iter().filter_map(|key| {
        // A key of HMAC may have any length.
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    });
    signed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::webhook::tests::event;

    #[test]
    fn a_message_is_signed_as_the_specification_shows_it() {
        // The vector of the specification's own libraries.
        let key = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
        let (id, at, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        let one = signatures(std::slice::from_ref(&key), id, at, body);
        assert_eq!(one, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let both = signatures(&[key, vec![7; 32]], id, at, body);
        assert!(both.starts_with(&format!("{one} v1,")), "{both}");
    }

    #[test]
    fn a_secret_is_what_it_says_it_is() {
        for (text, bytes) in [
            (secret(&[7; 32]).as_str(), Some(32)),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Some(24)),
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", None),
            ("whsec_AAAA", None),
            ("whsec_not base64", None),
            ("", None),
        ] {
            assert_eq!(key(text).ok().map(|k| k.len()), bytes, "{text}");
        }
    }

    #[test]
    fn an_event_is_a_cloud_event() {
        let event = event("environment.rolled-back", "environment/production", json!({"catalog": "shop"}));
        let Message { id, content_type, body } = message(&event, Shape::Cloudevents);
        let said: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(content_type, "application/cloudevents+json");
        assert_eq!(said["id"], id);
        assert!(
            id.starts_with("evt_1_") && !id.contains('.'),
            "a period would end the id in what is signed: {id}"
        );
        for (name, value) in [
            ("specversion", "1.0"),
            ("type", "dev.toolpact.environment.rolled-back.v1"),
            ("source", "/api/v1/events"),
            ("subject", "environment/production"),
            ("time", "2026-11-30T12:00:00Z"),
        ] {
            assert_eq!(said[name], value, "{said}");
        }
        assert_eq!((&said["data"]["seq"], &said["data"]["data"]["catalog"]), (&json!(1), &json!("shop")));
    }

    #[test]
    fn what_people_wrote_cannot_call_people_in_slack() {
        let data = json!({"verdict": "breaking", "reason": "<!channel> a & b", "digest": "left out"});
        let body = message(&event("draft.approved", "catalog/shop", data), Shape::Slack).body;
        let said: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(said["text"], ":red_circle: catalog shop: draft approved");
        assert_eq!(
            said["blocks"][0]["text"]["text"],
            "*:red_circle: catalog shop: draft approved*\nverdict: breaking\nreason: &lt;!channel&gt; a &amp; b"
        );
        let long = json!({"reason": "x".repeat(4_000)});
        let body = message(&event("draft.rejected", "catalog/shop", long), Shape::Slack).body;
        assert!(body.len() < 3_000, "{}", body.len());
    }

    #[test]
    fn a_week_is_told_in_lines() {
        let data = json!({
            "drafts": {"breaking": 2}, "listings": {"ok": 9, "timeout": 1}, "events": {"draft.created": 2},
            "moves": [{"environment": "production", "catalog": "shop", "kind": "rolled-back", "to": "2026.11.30"}],
            "pending": [{"catalog": "shop", "draft": 4, "verdict": "breaking"}],
        });
        let body = message(&event(WEEKLY, "week/2026-W48", data), Shape::Slack).body;
        let said: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(
            said["blocks"][0]["text"]["text"],
            "*what happened in week 2026-W48*\ndrafts: breaking 2\nlistings: ok 9, timeout 1\nevents: draft.created 2\n\
             • production shop: rolled-back 2026.11.30\n• waits for review: shop d-4 (breaking)"
        );
    }
}
