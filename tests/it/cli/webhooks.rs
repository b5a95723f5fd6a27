//! Webhooks on the command line, and the service that tells them killed in the middle of it.

use std::{
    collections::BTreeSet,
    process::{Child, Stdio},
};

use serde_json::Value;

use super::{INVALID, PASSED};
use crate::{
    command::User,
    receiver::{Receiver, Say},
};

fn json(user: &User, args: &[&str]) -> Value {
    let said = user.run(&[args, &["--format", "json"]].concat()).code(PASSED).stdout;
    serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}"))
}

#[test]
fn a_webhook_is_made_shown_changed_and_removed() {
    let user = User::new();
    let made = user.run(&[
        "webhooks",
        "add",
        "ops",
        "https://user:pw@hooks.example.com/s3cr3t",
        "--severity",
        "breaking",
        "--environment",
        "production",
    ]);
    let said = made.code(PASSED).stdout;
    assert!(said.contains("\nwhsec_"), "{said}");
    let listed = user.run(&["webhooks"]).code(PASSED).stdout;
    assert_eq!(
        listed,
        "ops            cloudevents https://hooks.example.com/…, active\n  told if breaking, in production\n"
    );
    user.run(&["webhooks", "change", "ops", "--kind", "draft.", "--disable"]).code(PASSED);
    user.run(&["webhooks", "rotate", "ops"]).code(PASSED);
    let all = json(&user, &["webhooks"]);
    assert_eq!((&all[0]["state"], &all[0]["kinds"][0]), (&"disabled".into(), &"draft.".into()));
    for (args, word) in [
        (vec!["webhooks", "add", "x", "ftp://example.com/"], "is no http or https URL"),
        (vec!["webhooks", "add", "x", "https://example.com/", "--severity", "bad"], "unknown variant"),
        (vec!["webhooks", "add", "x", "https://example.com/", "--kind", "draft"], "is no kind of event"),
        (vec!["webhooks", "add", "x", "https://example.com/", "--secret-from", "whsec_x"], "in clear"),
        (vec!["webhooks", "ping", "op"], "webhook `op` does not exist; did you mean `ops`?"),
        (vec!["webhooks", "resend", "ops", "x"], "invalid"),
    ] {
        let ended = user.run(&args).code(INVALID);
        assert!(ended.stderr.contains(word), "{args:?}: {}", ended.stderr);
    }
    user.run(&["webhooks", "remove", "ops"]).code(PASSED);
    let log = user.run(&["log"]).code(PASSED).stdout;
    assert!(log.contains("webhook.removed") && !log.contains("s3cr3t") && !log.contains("whsec_"), "{log}");
}

#[tokio::test]
async fn nothing_is_lost_where_the_service_is_killed_while_it_tells() {
    // The receiver hangs at first, and takes everything after the service that it hung was killed.
    let mut receiver = Receiver::new(|nth| if nth < 2 { Say::Nothing } else { Say::Status(200) }).await;
    let url = receiver.url.clone();
    let user = tokio::task::spawn_blocking(move || {
        let user = User::with_database();
        user.run(&["webhooks", "add", "ops", &url]).code(PASSED);
        user
    })
    .await
    .expect("made");
    let serve = || -> Child {
        let args = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--no-poll",
            "--poll-lease",
            "1",
            "--webhook-retry",
            "1",
            "--allow-network",
            "127.0.0.0/8",
        ];
        user.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
    };
    for name in ["a", "b", "c", "d", "e"] {
        let document = user.file("c.yaml", format!("catalog: {name}\n"));
        user.run(&["apply", &document.to_string_lossy()]).code(PASSED);
    }
    let mut first = serve();
    let hung = [receiver.next().await.id(), receiver.next().await.id()];
    first.kill().expect("killed with SIGKILL");
    first.wait().expect("ended");
    let mut second = serve();
    let mut taken = Vec::new();
    // Five catalogs, and the token that the first start made.
    while taken.iter().map(|(id, _): &(String, _)| id).collect::<BTreeSet<_>>().len() < 6 {
        let message = receiver.next().await;
        taken.push((message.id(), message.body));
    }
    second.kill().expect("killed");
    second.wait().expect("ended");
    assert!(hung.iter().all(|id| taken.iter().any(|(taken, _)| taken == id)), "{hung:?}");
    let log = json(&user, &["log"]);
    for event in log.as_array().expect("events").iter().filter(|e| e["kind"] == "catalog.applied") {
        let id = format!("evt_{}_", event["seq"]);
        assert!(taken.iter().any(|(taken, _)| taken.starts_with(&id)), "{id} in {taken:?}");
    }
}
