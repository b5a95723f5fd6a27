//! Servers that are followed: what they list each time that they say it changed, and how that ends. Here over stdio; over
//! HTTP in `http/follow.rs`.

use std::time::Duration;

use tokio::{
    sync::mpsc::{Receiver, channel},
    task::JoinHandle,
    time::timeout,
};
use toolpact::{
    mcp::{self, Ended, Source},
    snapshot::{Listing, Outcome},
};

use super::{
    patient,
    stdio::{A, B, CHANGED, DISCOVERED, NO_SUCH_METHOD, READ, REST, legacy, page, say, script, tools},
};

/// A test that waits longer has failed.
const LONG: Duration = Duration::from_secs(60);

/// A server that is being followed.
pub(crate) struct Followed {
    pub(crate) listings: Receiver<Listing>,
    ended: JoinHandle<Ended>,
}

impl Followed {
    pub(crate) fn new(source: Source) -> Self {
        let (sender, listings) = channel(1);
        let ended = tokio::spawn(async move { mcp::changes(&source, &patient(), &sender).await });
        Self { listings, ended }
    }

    /// The next listing: how many tools, or how it failed.
    pub(crate) async fn next(&mut self) -> String {
        match timeout(LONG, self.listings.recv()).await.expect("a listing comes") {
            Some(listing) if listing.outcome == Outcome::Ok => listing.tools.len().to_string(),
            Some(listing) => format!("{}: {}", listing.outcome, listing.evidence.message),
            None => "none".to_owned(),
        }
    }

    /// All that is listed and how it ends.
    pub(crate) async fn until_it_ends(mut self) -> (Vec<String>, String) {
        let mut told = Vec::new();
        while let Some(listing) = timeout(LONG, self.listings.recv()).await.expect("it ends") {
            assert_eq!(listing.outcome, Outcome::Ok, "{:?}", listing.evidence);
            told.push(listing.tools.len().to_string());
        }
        (told, how(self.ended.await.expect("no panic")))
    }

    /// How it ends where nobody listens any more.
    pub(crate) async fn dropped(self) -> String {
        drop(self.listings);
        how(self.ended.await.expect("no panic"))
    }
}

fn how(ended: Ended) -> String {
    match ended {
        Ended::Unheard => "unheard".to_owned(),
        Ended::Unsupported(why) => format!("unsupported: {why}"),
        Ended::Lost(listing) => {
            assert!(listing.tools.is_empty() && !listing.evidence.help.is_empty(), "{listing:?}");
            format!("lost: {}: {}", listing.outcome, listing.evidence.message)
        }
    }
}

fn stdio(script: &str) -> Followed {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    Followed::new(Source::stdio(command).expect("there is a command"))
}

/// A modern server up to its first `tools/list`, which has id 3: `subscriptions/listen` is answered with this.
fn modern(answer: &str, steps: &[&str]) -> String {
    let (discovered, answer) = (say(DISCOVERED), say(answer));
    let mut all = vec![READ, &discovered, READ, &answer, READ];
    all.extend(steps);
    script(&all)
}

fn acknowledged(filter: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":2}},"notifications":{filter}}}}}"#
    )
}

#[tokio::test]
async fn a_server_is_listed_again_when_it_says_so() {
    // A change while a list is read belongs to that list; one after it has to wait until it was received.
    let folder = tempfile::tempdir().expect("a folder");
    let go = folder.path().join("go").to_string_lossy().into_owned();
    // Lists, then waits for the word that it was received, then says that something changed.
    let lists =
        |listed: &str| format!("mkfifo {go}; {listed}; read -r line <{go}; rm {go}; {}", say(CHANGED));
    let changed = say(CHANGED);
    let honoured = acknowledged(r#"{"toolsListChanged":true}"#);
    let refused = NO_SUCH_METHOD.replace("\"id\":1", "\"id\":2");
    let rows: Vec<(&str, String, &[&str], &str)> = vec![
        (
            "legacy",
            legacy(&[&lists(&tools(3, &[A])), READ, &tools(4, &[A, B]), "exit 7"]),
            &["1", "2"],
            "exited with code 7 while it was followed",
        ),
        (
            "legacy that says it while it is read",
            legacy(&[&changed, &tools(3, &[A]), READ, &tools(4, &[A, B]), "exit 7"]),
            &["2"],
            "exited with code 7",
        ),
        (
            "legacy that does not declare it",
            legacy(&[&tools(3, &[A]), REST]).replace(r#""listChanged":true"#, r#""listChanged":false"#),
            &["1"],
            "unsupported: ",
        ),
        (
            "modern, until it ends the subscription",
            modern(
                &honoured,
                &[
                    &lists(&tools(3, &[A])),
                    READ,
                    &tools(4, &[A, B]),
                    &page(2, r#"{"resultType":"complete"}"#),
                    REST,
                ],
            ),
            &["1", "2"],
            "lost: unavailable: ",
        ),
        (
            "modern that does not know the question",
            modern(&refused, &[&tools(3, &[A]), REST]),
            &["1"],
            "does not tell when its tools change: -32601: Method not found",
        ),
        (
            "modern that honours nothing of it",
            modern(&acknowledged("{}"), &[&tools(3, &[A]), REST]),
            &["1"],
            "it honours no such subscription",
        ),
        ("nothing that begins", "exit 5".to_owned(), &[], "exited with code 5"),
    ];
    for (name, script, listed, words) in rows {
        let mut followed = stdio(&script);
        let mut told = Vec::new();
        if script.contains(&go) {
            told.push(followed.next().await);
            std::fs::write(&go, "on\n").expect("the server waits for it");
        }
        let (rest, ended) = followed.until_it_ends().await;
        told.extend(rest);
        assert_eq!(told, listed, "{name}: {ended}");
        assert!(ended.contains(words), "{name}: {ended}");
    }
}

#[tokio::test]
async fn a_server_that_says_so_all_the_time_is_listed_ever_more_seldom() {
    let answer = format!(
        "id=3; while :; do printf '%s\\n' \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":{{\\\"tools\\\":[]}}}}\"; {}; {READ}; id=$((id+1)); done",
        say(CHANGED)
    );
    let mut followed = stdio(&legacy(&[&answer]));
    let mut listed = 0;
    let _ = timeout(Duration::from_millis(1_500), async {
        loop {
            assert_eq!(followed.next().await, "0");
            listed += 1;
        }
    })
    .await;
    // At 0, 250 and 750 ms; the next would be at 1,750.
    assert!((2..=3).contains(&listed), "{listed}");
    assert_eq!(followed.dropped().await, "unheard");
}

#[tokio::test]
async fn a_server_that_nobody_follows_any_more_is_ended() {
    let mut followed = stdio(&legacy(&[&tools(3, &[A]), REST]));
    assert_eq!(followed.next().await, "1");
    assert_eq!(followed.dropped().await, "unheard");
}
