//! What a client can do to the service by connecting to it alone.

use std::{net::SocketAddr, time::Duration};

use axum::{Router, body::Bytes, routing::post};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
    time::timeout,
};
use toolpact::{
    guard::{Limits, Rates},
    http::{self, Bounds},
};

/// Longer than anything takes that works.
const SOON: Duration = Duration::from_secs(30);

/// A service with these bounds, what stops it, and its end.
async fn served(bounds: Bounds) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<std::io::Result<()>>) {
    served_behind(&[], bounds).await
}

/// The same behind proxies in these networks.
async fn served_behind(
    proxies: &[&str],
    bounds: Bounds,
) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<std::io::Result<()>>) {
    let proxies = proxies.iter().map(|proxy| proxy.parse().expect("a network")).collect();
    let limits = Limits::new(Rates::default()).behind(proxies);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().route("/", post(async |body: Bytes| format!("{} bytes", body.len())));
    let (stop, stopped) = oneshot::channel();
    let stopped = async { _ = stopped.await };
    let served = async move { http::serve(listener, router, &limits, stopped, bounds).await };
    (address, stop, tokio::spawn(served))
}

/// Bounds that nothing here runs into by itself.
fn wide() -> Bounds {
    Bounds { head: SOON, write: SOON, connections: 10, per_address: 10 }
}

/// All that comes until the other end hangs up.
async fn heard(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    // A connection that is reset has ended as well.
    _ = timeout(SOON, stream.read_to_end(&mut all)).await.expect("the service hangs up");
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    for begun in ["", "GET / HTT", "POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: a", "POST / HTTP/1.1\r\n"] {
        let (address, _stop, _) = served(Bounds { head: Duration::from_millis(50), ..wide() }).await;
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(begun.as_bytes()).await.expect("written");
        let said = heard(&mut stream).await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{begun}: {said}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_not_kept() {
    let (address, _stop, _) = served(wide()).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nX-Large: {}\r\n\r\n", "a".repeat(1 << 20));
    // It may hang up before all is written.
    _ = stream.write_all(head.as_bytes()).await;
    let said = heard(&mut stream).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
}

#[tokio::test]
async fn requests_that_are_framed_in_two_ways_are_refused() {
    for head in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Content-Length: 4\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding : chunked",
        "Content-Length: +4",
    ] {
        let (address, _stop, _) = served(wide()).await;
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let smuggled = "0\r\n\r\nPOST /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let request = format!("POST / HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n{smuggled}");
        _ = stream.write_all(request.as_bytes()).await;
        _ = stream.shutdown().await;
        let said = heard(&mut stream).await;
        // Where it takes one of the two, it hangs up afterwards, so that nothing of the body is taken for a request.
        assert!(said.matches("HTTP/1.1").count() <= 1, "{head}: {said}");
        assert!(!said.contains("404"), "{head}: {said}");
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_not_written_to_for_ever() {
    let (address, _stop, _) =
        served(Bounds { write: Duration::from_millis(50), connections: 1, ..wide() }).await;
    let mut deaf = TcpStream::connect(address).await.expect("it listens");
    // Many small requests whose answers fill every buffer on the way.
    let ask = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".repeat(1_000);
    let deafened = async { while deaf.write_all(ask.as_bytes()).await.is_ok() {} };
    timeout(SOON, deafened).await.expect("the service hangs up");
    let mut next = TcpStream::connect(address).await.expect("it listens");
    let ask = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    next.write_all(ask.as_bytes()).await.expect("written");
    assert!(heard(&mut next).await.ends_with("0 bytes"));
}

#[tokio::test]
async fn one_connection_too_many_waits_for_another_to_end() {
    const ASK: &[u8] =
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (address, _stop, _) = served(Bounds { connections: 1, ..wide() }).await;
    let mut first = TcpStream::connect(address).await.expect("it listens");
    first.write_all(b"POST / HTTP/1.1\r\n").await.expect("written");
    let mut second = TcpStream::connect(address).await.expect("the system accepts it");
    second.write_all(ASK).await.expect("written");
    first.write_all(&ASK[b"POST / HTTP/1.1\r\n".len()..]).await.expect("written");
    assert!(heard(&mut first).await.ends_with("0 bytes"));
    assert!(heard(&mut second).await.ends_with("0 bytes"));
}

#[tokio::test]
async fn one_address_does_not_hold_all_connections_and_a_proxy_may() {
    const HALF: &[u8] = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    for (proxies, refused) in [(&[][..], true), (&["10.0.0.0/8"], true), (&["127.0.0.0/8"], false)] {
        let (address, _stop, _) = served_behind(proxies, Bounds { per_address: 2, ..wide() }).await;
        let begun = async || {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            stream.write_all(HALF).await.expect("written");
            stream
        };
        let [mut first, mut second, mut third] = [begun().await, begun().await, begun().await];
        if refused {
            assert_eq!(heard(&mut third).await, "", "{proxies:?}");
        }
        first.write_all(b"\r\n").await.expect("written");
        assert!(heard(&mut first).await.ends_with("0 bytes"), "{proxies:?}");
        // Where one has ended there is room again.
        let mut next = if refused { begun().await } else { third };
        for stream in [&mut next, &mut second] {
            stream.write_all(b"\r\n").await.expect("written");
            assert!(heard(stream).await.ends_with("0 bytes"), "{proxies:?}");
        }
    }
}

#[tokio::test]
async fn what_was_asked_before_the_end_is_answered() {
    let (address, stop, served) = served(wide()).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream
        .write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab")
        .await
        .expect("written");
    let mut idle = TcpStream::connect(address).await.expect("it listens");
    idle.write_all(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        .await
        .expect("written");
    let mut some = [0; 12];
    idle.read_exact(&mut some).await.expect("answered");
    stop.send(()).expect("it runs");
    stream.write_all(b"cd").await.expect("written");
    assert!(heard(&mut stream).await.ends_with("4 bytes"));
    heard(&mut idle).await;
    timeout(SOON, served).await.expect("it ends").expect("no panic").expect("in good order");
}
