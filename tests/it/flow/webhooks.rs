//! What happened, told to webhooks: once, signed, again where it was not taken, and nowhere else.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use chrono::TimeDelta;
use serde_json::json;
use toolpact::{
    app::{
        App, Clock as _, Kind, Reach,
        lists::Slice,
        messenger::{Messenger, Telling},
        webhooks::{NewWebhook, WebhookChange},
    },
    catalog::webhook::{Attempt, Delivery, DeliveryStatus, Filter, Retries, Shape, State},
    store::{Attempted, Store},
};

use super::refused;
use crate::{
    receiver::{Received, Receiver, Say},
    support::{Hands, is, listing, to, tool},
};

/// Use cases that may reach loopback, as an operator allows it.
async fn app() -> (App, Arc<dyn Store>, Hands) {
    let (store, hands) = (crate::database::store().await, Hands::at_noon());
    let app = App::new(store.clone(), Arc::new(hands.clone()));
    (app.reaching(loopback()), store, hands)
}

fn loopback() -> Reach {
    Reach::Public(vec!["127.0.0.0/8".parse().expect("a network")])
}

/// Makes a webhook `ops`; gives its secret.
async fn add(app: &App, url: &str, filter: serde_json::Value) -> String {
    let filter: Filter = serde_json::from_value(filter).expect("a filter");
    let new =
        NewWebhook { name: is("ops"), url: url.into(), shape: Shape::Cloudevents, filter, secret: None };
    app.add_webhook(new, "ann").await.expect("made").secret.expect("one was made")
}

/// Something happens: an environment is frozen, which is an event.
async fn happen(app: &App, environment: &str) {
    let text = format!("catalog: shop\nenvironments: {{{environment}: {{}}}}");
    _ = app.apply("shop.yaml", &text, "ann").await.expect("applied");
}

/// One process of those that tell sends what is due. Receivers have a tenth of a second.
async fn turn(app: &App, holder: &str) {
    let telling = Telling { timeout: Duration::from_millis(100), ..Telling::default() };
    Messenger::new(app.clone(), holder.to_owned(), telling).turn().await.expect("the store works");
}

async fn deliveries(app: &App) -> Vec<Delivery> {
    let mut all =
        app.deliveries_page(&is("ops"), None, &Slice { after: None, limit: 100 }).await.expect("there").items;
    all.reverse();
    all
}

/// Each delivery as its status, its attempts and the last answer's status.
async fn standing(app: &App) -> Vec<(DeliveryStatus, u32, Option<u16>)> {
    let of = |d: Delivery| (d.status, d.attempts, d.last.and_then(|last| last.status));
    deliveries(app).await.into_iter().map(of).collect()
}

fn kinds(received: &[Received]) -> Vec<String> {
    received.iter().map(Received::kind).collect()
}

#[tokio::test]
async fn what_happened_since_a_webhook_was_made_is_told_once_and_signed() {
    let (app, ..) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(204)).await;
    happen(&app, "before").await;
    let secret = add(&app, &receiver.url, json!({})).await;
    turn(&app, "one").await;
    assert_eq!(kinds(&receiver.all()), [""; 0], "neither what was before nor itself");
    happen(&app, "staging").await;
    turn(&app, "one").await;
    turn(&app, "two").await;
    let told = receiver.all();
    assert_eq!(kinds(&told), ["catalog.applied"]);
    assert_eq!(told[0].signed_with(&secret), Some(0));
    assert_eq!(told[0].header("content-type"), "application/cloudevents+json");
    assert_eq!(told[0].json()["id"], told[0].id().as_str());
    assert_eq!(told[0].json()["subject"], "catalog/shop");
    assert_eq!(told[0].header("webhook-timestamp"), app.now().timestamp().to_string());
    assert_eq!(standing(&app).await, [(DeliveryStatus::Delivered, 1, Some(204))]);
}

#[tokio::test]
async fn what_was_not_taken_is_sent_again_later_under_the_same_id() {
    let (app, _, hands) = app().await;
    let mut receiver = Receiver::new(|nth| match nth {
        0 => Say::Status(500),
        1 => Say::Nothing,
        2 => Say::Status(429),
        _ => Say::Status(200),
    })
    .await;
    let secret = add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    let mut all = Vec::new();
    // Seconds since the attempt before, and whether it is due by then: up to a fifth of a pause is jitter.
    for (seconds, sent) in
        [(0, true), (9, false), (3, true), (19, false), (5, true), (39, false), (9, true), (3_600, false)]
    {
        hands.by(TimeDelta::seconds(seconds));
        turn(&app, "one").await;
        let told = receiver.all();
        assert_eq!(told.len(), usize::from(sent), "{seconds} s later");
        all.extend(told);
    }
    let ids: BTreeSet<String> = all.iter().map(Received::id).collect();
    assert_eq!((all.len(), ids.len()), (4, 1));
    assert!(all.iter().all(|m| m.body == all[0].body && m.signed_with(&secret) == Some(0)));
    let times: BTreeSet<&str> = all.iter().map(|m| m.header("webhook-timestamp")).collect();
    assert_eq!(times.len(), 4, "each is signed when it is sent");
    assert_eq!(standing(&app).await, [(DeliveryStatus::Delivered, 4, Some(200))]);
}

#[tokio::test]
async fn what_a_receiver_said_is_kept_for_people_to_read() {
    let (app, _, hands) = app().await;
    let receiver = Receiver::new(|nth| if nth == 0 { Say::Nothing } else { Say::Status(503) }).await;
    add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    let last = async || deliveries(&app).await.remove(0).last.expect("it was tried");
    assert_eq!((last().await.status, last().await.said.as_str()), (None, "no answer within 0.1 s"));
    hands.by(TimeDelta::minutes(1));
    turn(&app, "one").await;
    assert_eq!((last().await.status, last().await.said.as_str()), (Some(503), "so [31m it is"));
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_told_nothing_more_until_somebody_says_so() {
    let (app, _, hands) = app().await;
    let mut receiver = Receiver::new(|nth| Say::Status(if nth == 0 { 410 } else { 200 })).await;
    add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    assert_eq!(standing(&app).await, [(DeliveryStatus::Failed, 1, Some(410))]);
    let webhook = app.webhook(&is("ops")).await.expect("there");
    assert_eq!(webhook.state, State::Disabled);
    assert_eq!(webhook.because.as_deref(), Some("the receiver answered 410: it wants no more messages"));
    let events = app.events(1).await.expect("events");
    assert_eq!((events[0].kind.as_str(), events[0].subject.as_str()), ("webhook.disabled", "webhook/ops"));
    happen(&app, "production").await;
    hands.forward(60);
    turn(&app, "one").await;
    assert_eq!(receiver.all().len(), 1);
    assert_eq!(refused(app.ping_webhook(&is("ops"), "ann").await).1, "webhook-disabled");
    let enable = WebhookChange { state: Some(State::Active), ..WebhookChange::default() };
    let webhook = app.change_webhook(webhook, enable, "ann").await.expect("enabled");
    assert_eq!(webhook.because, None);
    happen(&app, "canary").await;
    turn(&app, "one").await;
    let told = receiver.all();
    assert_eq!(told.len(), 1, "not what happened meanwhile");
    assert!(told[0].json()["data"]["data"].to_string().contains("canary"));
    // By hand, what was refused is sent after all, under its own id.
    let failed = deliveries(&app).await.remove(0);
    app.resend(&is("ops"), failed.id, "ann").await.expect("it waits again");
    turn(&app, "one").await;
    assert!(receiver.all()[0].id().starts_with(&format!("evt_{}_", failed.event)));
    let (kind, code, _) = refused(app.resend(&is("ops"), 999, "ann").await);
    assert_eq!((kind, code), (Kind::NotFound, "unknown-delivery"));
}

#[tokio::test]
async fn a_delivery_is_given_up_after_three_days_and_a_webhook_that_took_nothing_with_it() {
    let (app, _, hands) = app().await;
    let receiver = Receiver::new(|_| Say::Status(500)).await;
    add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    hands.by(TimeDelta::days(3) - TimeDelta::seconds(1));
    turn(&app, "one").await;
    assert_eq!(standing(&app).await, [(DeliveryStatus::Waiting, 2, Some(500))]);
    hands.forward(25);
    turn(&app, "one").await;
    assert_eq!(standing(&app).await, [(DeliveryStatus::Failed, 3, Some(500))]);
    let webhook = app.webhook(&is("ops")).await.expect("there");
    assert_eq!(webhook.because.as_deref(), Some("nothing was taken since 2026-11-30T12:00:00Z"));
}

#[tokio::test]
async fn a_delivery_is_given_up_alone_where_others_are_taken() {
    let (app, _, hands) = app().await;
    let receiver = Receiver::new(|nth| Say::Status(if nth == 1 { 200 } else { 500 })).await;
    add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    happen(&app, "production").await;
    turn(&app, "one").await;
    hands.by(TimeDelta::days(4));
    turn(&app, "one").await;
    let standing = standing(&app).await;
    assert_eq!(standing, [(DeliveryStatus::Failed, 2, Some(500)), (DeliveryStatus::Delivered, 1, Some(200))]);
    assert_eq!(app.webhook(&is("ops")).await.expect("there").state, State::Active);
}

#[tokio::test]
async fn of_many_processes_one_sends() {
    let (app, ..) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    add(&app, &receiver.url, json!({})).await;
    for nth in 0..9 {
        happen(&app, &format!("e{nth}")).await;
    }
    tokio::join!(turn(&app, "one"), turn(&app, "two"), turn(&app, "three"));
    let told = receiver.all();
    let ids: BTreeSet<String> = told.iter().map(Received::id).collect();
    assert_eq!((told.len(), ids.len()), (9, 9));
}

#[tokio::test]
async fn what_a_process_left_that_is_gone_is_sent_when_its_lease_ends() {
    let (app, store, hands) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    let (now, minutes) = (hands.now(), TimeDelta::minutes);
    let claim = store.claim_sendings("killed:0", now, now + minutes(2), 9).await.expect("claimed").remove(0);
    turn(&app, "one").await;
    assert!(receiver.all().is_empty(), "what another holds is left alone");
    assert!(store.renew_sending(&claim, now + minutes(3)).await.expect("asked"));
    hands.forward(2);
    turn(&app, "one").await;
    assert!(receiver.all().is_empty(), "it was renewed");
    hands.forward(1);
    turn(&app, "one").await;
    assert_eq!(receiver.all().len(), 1);
    // It was only slow: nothing that it has to say counts any more.
    assert!(!store.renew_sending(&claim, now + minutes(9)).await.expect("asked"));
    assert!(!store.plan(&claim, &[], 99, now).await.expect("asked"));
    let sent = deliveries(&app).await.remove(0);
    let attempt = Attempt { at: now, status: Some(500), said: String::new() };
    let late = Attempted { delivery: sent.id, attempt, status: DeliveryStatus::Waiting, due: Some(now) };
    assert!(!store.note_attempt(&claim, &late).await.expect("asked"));
    assert_eq!(deliveries(&app).await, [sent]);
    happen(&app, "production").await;
    turn(&app, "one").await;
    assert_eq!(receiver.all().len(), 1, "its place in the log is where it was");
}

#[tokio::test]
async fn a_webhook_reaches_no_further_than_it_may() {
    let (app, store, _) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    let port = receiver.port().to_owned();
    let narrow = App::new(store.clone(), Arc::new(Hands::at_noon())).reaching(Reach::Public(Vec::new()));
    add(&app, &receiver.url, json!({})).await;
    let mut complaints = Vec::new();
    for (host, words) in [
        ("127.0.0.1", "127.0.0.1 is no public address"),
        ("localhost", "which is no public address"),
        ("[::1]", "::1 is no public address"),
        ("[::ffff:127.0.0.1]", "is no public address"),
        ("0x7f.1", "127.0.0.1 is no public address"),
        ("2130706433", "127.0.0.1 is no public address"),
        ("169.254.169.254", "169.254.169.254 is no public address"),
        ("user:pass@10.0.0.1", "10.0.0.1 is no public address"),
    ] {
        let seen = app.webhook(&is("ops")).await.expect("there");
        let url = Some(format!("http://{host}:{port}/").as_str().into());
        app.change_webhook(seen, WebhookChange { url, ..WebhookChange::default() }, "ann")
            .await
            .expect("kept");
        app.ping_webhook(&is("ops"), "ann").await.expect("noted");
        turn(&narrow, "one").await;
        let Some(last) = deliveries(&app).await.pop().and_then(|d| d.last) else {
            complaints.push(format!("{host}: never tried"));
            continue;
        };
        if last.status.is_some() || !last.said.contains(words) || last.said.contains("pass") {
            complaints.push(format!("{host}: {last:?}"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(receiver.all().is_empty());
}

#[tokio::test]
async fn a_redirect_is_no_way_to_another_receiver() {
    let (app, ..) = app().await;
    let mut inner = Receiver::new(|_| Say::Status(200)).await;
    let to = inner.url.clone();
    let outer = Receiver::new(move |_| Say::Redirect(to.clone())).await;
    add(&app, &outer.url, json!({})).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    assert!(inner.all().is_empty());
    assert_eq!(standing(&app).await, [(DeliveryStatus::Waiting, 1, Some(307))]);
}

#[tokio::test]
async fn while_a_secret_is_rotated_messages_are_signed_with_both() {
    let (app, _, hands) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    let old = add(&app, &receiver.url, json!({})).await;
    let seen = app.webhook(&is("ops")).await.expect("there");
    let rotated = app.rotate_webhook(seen.clone(), None, TimeDelta::hours(1), "ann").await.expect("rotated");
    let new = rotated.secret.expect("one was made");
    let (kind, code, _) = refused(app.rotate_webhook(seen, None, TimeDelta::hours(1), "bob").await);
    assert_eq!((kind, code), (Kind::Stale, "stale-etag"), "somebody else rotated it");
    for (minutes, signed) in [(59, (Some(0), Some(1))), (1, (Some(0), None))] {
        hands.forward(minutes);
        app.ping_webhook(&is("ops"), "ann").await.expect("noted");
        turn(&app, "one").await;
        let told = receiver.all().remove(0);
        assert_eq!((told.signed_with(&new), told.signed_with(&old)), signed);
        assert_eq!(told.kind(), "webhook.pinged");
    }
}

#[tokio::test]
async fn a_secret_that_a_file_says_is_not_in_the_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = crate::database::Own::new().await;
    let app = own.open(Arc::new(Hands::at_noon())).await.reaching(loopback());
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    std::fs::write(at("secret"), format!("{secret}\n")).expect("written");
    let new = NewWebhook {
        name: is("ops"),
        url: receiver.url.replace("s3cr3t-path", &format!("${{file:{}}}", at("path"))).as_str().into(),
        shape: Shape::Cloudevents,
        filter: Filter::default(),
        secret: Some(format!("${{file:{}}}", at("secret")).as_str().into()),
    };
    assert_eq!(app.add_webhook(new.clone(), "ann").await.expect("made").secret, None);
    app.ping_webhook(&is("ops"), "ann").await.expect("noted");
    turn(&app, "one").await;
    let last = deliveries(&app).await.remove(0).last.expect("it was tried");
    assert!(last.status.is_none() && last.said.contains("the URL is not known"), "{last:?}");
    std::fs::write(at("path"), "s3cr3t-path").expect("written");
    app.ping_webhook(&is("ops"), "ann").await.expect("noted");
    turn(&app, "one").await;
    assert_eq!(receiver.all()[0].signed_with(secret), Some(0));
    let mut behind = own.behind().await;
    let kept = behind.texts("SELECT url || secrets FROM webhooks").await.concat();
    assert!(!kept.contains("MfKQ9r8G") && !kept.contains("s3cr3t"), "{kept}");
    let clear = NewWebhook { name: is("clear"), secret: Some(secret.into()), ..new };
    assert_eq!(refused(app.add_webhook(clear, "ann").await).1, "secret-in-clear");
}

#[tokio::test]
async fn only_what_is_breaking_and_in_production() {
    let (app, ..) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    add(&app, &receiver.url, json!({"severities": ["breaking"], "environments": ["production"]})).await;
    for (nth, tools) in
        [vec![tool("a", &["id"]), tool("b", &[])], vec![tool("a", &["id"])]].iter().enumerate()
    {
        app.record(&is("orders"), listing(tools), "ci").await.expect("recorded");
        let draft = match nth {
            0 => app.draft(&is("orders"), &[is("orders")], "ci").await.expect("drafted").id,
            _ => 2,
        };
        let approved = app.approve(&is("orders"), draft, true, "go", "ann").await.expect("approved");
        let version = approved.version.expect("it is one").version;
        for environment in ["staging", "production"] {
            let generation = i64::try_from(nth).expect("small");
            app.promote(&to(environment, version, generation)).await.expect("promoted");
        }
    }
    turn(&app, "one").await;
    let told = receiver.all();
    assert_eq!(kinds(&told), ["environment.promoted"]);
    assert_eq!(told[0].json()["subject"], "environment/production");
    assert_eq!(told[0].json()["data"]["data"]["generation"], 2);
}

#[tokio::test]
async fn the_week_that_ended_is_told_once_to_those_who_ask() {
    // Noon is on Monday, November 30: the week that ended is 2026-W48.
    let (app, _, hands) = app().await;
    let mut receiver = Receiver::new(|_| Say::Status(200)).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    assert!(app.events(9).await.expect("events").iter().all(|e| e.kind != "digest.weekly"), "nobody asks");
    add(&app, &receiver.url, json!({"kinds": ["digest.weekly"]})).await;
    tokio::join!(turn(&app, "one"), turn(&app, "two"));
    turn(&app, "one").await;
    let told = receiver.all();
    assert_eq!(kinds(&told), ["digest.weekly"]);
    assert_eq!(told[0].json()["subject"], "week/2026-W48");
    assert_eq!(told[0].json()["data"]["data"]["events"], json!({}), "that was before there was anything");
    hands.by(TimeDelta::days(7));
    turn(&app, "one").await;
    let told = receiver.all();
    assert_eq!(told[0].json()["subject"], "week/2026-W49");
    let events = json!({"catalog.applied": 1, "digest.weekly": 1, "webhook.created": 1});
    assert_eq!(told[0].json()["data"]["data"]["events"], events);
}

#[tokio::test]
async fn deliveries_that_ended_are_forgotten_after_thirty_days() {
    let (app, _, hands) = app().await;
    let receiver = Receiver::new(|_| Say::Status(200)).await;
    add(&app, &receiver.url, json!({})).await;
    happen(&app, "staging").await;
    turn(&app, "one").await;
    hands.by(TimeDelta::days(30));
    turn(&app, "one").await;
    assert_eq!(deliveries(&app).await.len(), 1);
    hands.forward(1);
    turn(&app, "one").await;
    assert_eq!(deliveries(&app).await.len(), 0);
    assert_eq!(app.verify_events().await.expect("checked").broken, None);
    let seen = app.webhook(&is("ops")).await.expect("there");
    app.remove_webhook(&seen, "ann").await.expect("removed");
    assert_eq!(refused(app.webhook(&is("ops")).await).1, "unknown-webhook");
    assert_eq!(Retries::default().give_up, TimeDelta::days(3), "less than that");
}
