//! The log as it grows: over HTTP, and to syslog receivers.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use futures_util::StreamExt as _;
use tokio::{io::AsyncReadExt as _, net, time::timeout};
use toolpact::{
    access::Caller,
    app::App,
    guard::{Known, Limits, Rates},
    http,
};
use tower::ServiceExt as _;

use crate::{
    ask::{answer, get},
    database::Own,
    support::{Noon, is, to},
};

/// Longer than anything takes that works.
const PATIENCE: Duration = Duration::from_secs(20);

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it comes soon")
}

/// Two processes over one database, in which two events happened.
async fn replicas() -> (App, App, Own) {
    let own = Own::new().await;
    let (one, other) = (own.open(Arc::new(Noon)).await, own.open(Arc::new(Noon)).await);
    one.apply("orders", "catalogVersion: 2026.11.30\ntools: []\n", "ann").await.expect("applied");
    (one, other, own)
}

/// What a client is sent.
struct Client {
    body: axum::body::BodyDataStream,
    heard: String,
}

impl Client {
    async fn new(app: &App, path: &str, last: Option<&str>) -> Self {
        let mut request = Request::builder().uri(path).header("host", "localhost");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let mut request = request.body(Body::empty()).expect("a request");
        request.extensions_mut().insert(Known(Ok(Arc::new(Caller::local("api")))));
        let bound = "127.0.0.1:7878".parse().expect("an address");
        let router = http::service(
            http::router(app.clone()),
            app.clone(),
            bound,
            Arc::new(Limits::new(Rates::default())),
        );
        let response = router.oneshot(request).await.expect("a router always answers");
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body().into_data_stream(), heard: String::new() }
    }

    /// The ids of the next events.
    async fn ids(&mut self, count: usize) -> Vec<String> {
        let ids = |heard: &str| -> Vec<String> {
            let whole = heard.split_inclusive("\n\n").filter(|event| event.ends_with("\n\n"));
            whole
                .filter_map(|event| Some(event.lines().find_map(|l| l.strip_prefix("id: "))?.to_owned()))
                .collect()
        };
        while ids(&self.heard).len() < count {
            let bytes = soon(self.body.next()).await.expect("it goes on").expect("bytes");
            self.heard.push_str(std::str::from_utf8(&bytes).expect("text"));
        }
        let all = ids(&self.heard);
        self.heard.clear();
        all
    }
}

#[tokio::test]
async fn a_client_follows_the_log_whichever_process_writes_and_goes_on_where_it_was() {
    let (one, other, _own) = replicas().await;
    let mut client = Client::new(&one, "/api/v1/events/stream?after=0", None).await;
    let mut late = Client::new(&one, "/api/v1/events/stream", None).await;
    assert_eq!(client.ids(2).await, ["1", "2"]);
    other.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
    assert_eq!(client.ids(1).await, ["3"]);
    assert_eq!(late.ids(1).await, ["3"], "what was before is not asked for");
    let mut again = Client::new(&other, "/api/v1/events/stream?after=0", Some("1")).await;
    assert_eq!(again.ids(2).await, ["2", "3"]);
    // The service stops, and nobody is waited for.
    one.stop_following();
    assert!(soon(client.body.next()).await.is_none() && soon(late.body.next()).await.is_none());
    one.promote(&to("staging", is("2026.11.30"), 0)).await.expect("promoted");
    assert_eq!(again.ids(1).await, ["4"], "the other goes on");
    let refused = answer(&other, get("/api/v1/events/stream").header("last-event-id", "x")).await;
    assert!(refused.status == StatusCode::BAD_REQUEST && refused.body.contains("invalid-last-event-id"));
}

/// The next message of a stream with lengths.
async fn framed(stream: &mut net::TcpStream) -> String {
    let mut length = String::new();
    loop {
        match stream.read_u8().await.expect("a length") {
            b' ' => break,
            digit => length.push(char::from(digit)),
        }
    }
    let mut message = vec![0; length.parse().expect("a number")];
    stream.read_exact(&mut message).await.expect("a message");
    String::from_utf8(message).expect("text")
}

fn seq(message: &str) -> i64 {
    let (head, json) = message.split_once('{').expect("JSON");
    assert!(head.starts_with("<109>1 2026-11-30T12:00:00.123456Z - toolpact - "), "{message}");
    let event: serde_json::Value = serde_json::from_str(&format!("{{{json}")).expect("JSON");
    event["seq"].as_i64().expect("a number")
}

#[tokio::test]
async fn a_syslog_receiver_is_sent_every_event_and_after_a_restart_the_rest() {
    let (one, other, _own) = replicas().await;
    let listener = net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let name = format!("tcp://{}", listener.local_addr().expect("bound"));
    let sending = tokio::spawn(one.clone().send_syslog(name.parse().expect("a receiver")));
    let (mut stream, _) = soon(listener.accept()).await.expect("a connection");
    assert_eq!([seq(&soon(framed(&mut stream)).await), seq(&soon(framed(&mut stream)).await)], [1, 2]);
    other.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
    assert_eq!(seq(&soon(framed(&mut stream)).await), 3);
    // Stopped in good order, so that all that was sent is noted.
    one.stop_following();
    soon(sending).await.expect("it ends");
    other.promote(&to("staging", is("2026.11.30"), 0)).await.expect("promoted");
    let again = tokio::spawn(other.clone().send_syslog(name.parse().expect("a receiver")));
    let (mut stream, _) = soon(listener.accept()).await.expect("a connection");
    assert_eq!(seq(&soon(framed(&mut stream)).await), 4);
    again.abort();
}

#[tokio::test]
async fn a_receiver_that_hangs_up_is_sent_the_rest_when_it_is_back() {
    let (one, _, _own) = replicas().await;
    let listener = net::TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let name = format!("tcp://{}", listener.local_addr().expect("bound"));
    let sending = tokio::spawn(one.clone().send_syslog(name.parse().expect("a receiver")));
    let (mut stream, _) = soon(listener.accept()).await.expect("a connection");
    assert_eq!([seq(&soon(framed(&mut stream)).await), seq(&soon(framed(&mut stream)).await)], [1, 2]);
    drop(stream);
    one.promote(&to("production", is("2026.11.30"), 0)).await.expect("promoted");
    let (mut stream, _) = soon(listener.accept()).await.expect("another connection");
    let mut last = seq(&soon(framed(&mut stream)).await);
    while last < 3 {
        last = seq(&soon(framed(&mut stream)).await);
    }
    sending.abort();
}

#[tokio::test]
async fn datagrams_carry_one_event_each() {
    let (one, _, _own) = replicas().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let (udp, unix) = (
        net::UdpSocket::bind("127.0.0.1:0").await.expect("bound"),
        net::UnixDatagram::bind(&path).expect("bound"),
    );
    let names = [format!("udp://{}", udp.local_addr().expect("bound")), format!("unix:{}", path.display())];
    for name in names {
        tokio::spawn(one.clone().send_syslog(name.parse().expect("a receiver")));
    }
    let mut bytes = [0; 65_536];
    for expected in 1..=2 {
        let length = soon(udp.recv(&mut bytes)).await.expect("a datagram");
        assert_eq!(seq(std::str::from_utf8(&bytes[..length]).expect("text")), expected);
        let length = soon(unix.recv(&mut bytes)).await.expect("a datagram");
        assert_eq!(seq(std::str::from_utf8(&bytes[..length]).expect("text")), expected);
    }
    one.stop_following();
}
