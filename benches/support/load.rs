//! Requests over connections that are kept: raw, so that the client costs little beside the server that is measured.

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use axum::Router;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use toolpact::{
    app::App,
    guard::{Limits, Rates},
    http, web,
};

/// Serves on a port of its own from a runtime of one thread, so that the client has the other core to itself, for as long as
/// the process lives.
pub(crate) fn served(router: impl FnOnce(SocketAddr) -> Router + Send + 'static) -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let bound = listener.local_addr().expect("an address");
            tell.send(bound).expect("somebody waits");
            axum::serve(listener, router(bound)).await.expect("served");
        });
    });
    told.recv().expect("served")
}

/// The whole service, with a limit of calls that no bench reaches.
pub(crate) fn whole(app: App, bound: SocketAddr) -> Router {
    let routes = http::router(app.clone()).merge(web::router(app.clone()));
    let rates = Rates { calls: NonZeroU32::MAX, ..Rates::default() };
    http::service(routes, app, bound, Arc::new(Limits::new(rates)))
}

/// What an admin sends as `Authorization`.
pub(crate) async fn token(app: &App) -> String {
    let (_, secret) = app.first_token().await.expect("a database").expect("a new one");
    format!("Bearer {secret}")
}

/// A request as it is sent.
pub(crate) fn request(path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    (text + "\r\n").into_bytes()
}

/// An answer: its status, and its head and body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// A connection and what was read from it ahead.
pub(crate) struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(server: SocketAddr) -> Self {
        let stream = TcpStream::connect(server).await.expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, read: Vec::with_capacity(1 << 20) }
    }

    /// Sends a request and reads its answer; says its status and where in what was read its body begins.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> (u16, usize) {
        self.read.clear();
        self.stream.write_all(request).await.expect("the server reads");
        let (mut end, mut whole) = (None, usize::MAX);
        while self.read.len() < whole {
            let n = self.stream.read_buf(&mut self.read).await.expect("the server answers");
            assert!(n > 0, "the server hung up");
            if end.is_none()
                && let Some(at) = self.read.windows(4).position(|w| w == b"\r\n\r\n")
            {
                let length = length(&self.read[..at]);
                end = Some(at + 4);
                whole = at + 4 + length;
            }
        }
        let status = std::str::from_utf8(&self.read[9..12]).ok().and_then(|s| s.parse().ok());
        (status.expect("a status"), end.expect("a head"))
    }

    pub(crate) async fn ask(&mut self, request: &[u8]) -> Answer {
        let (status, body) = self.exchange(request).await;
        let head = String::from_utf8_lossy(&self.read[..body]).into_owned();
        Answer { status, head, body: self.read[body..].to_vec() }
    }
}

fn length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"content-length: ";
    let Some(at) = head.windows(NAME.len()).position(|w| w == NAME) else { return 0 };
    let digits = head[at + NAME.len()..].iter().take_while(|b| b.is_ascii_digit());
    digits.fold(0, |n, digit| n * 10 + usize::from(digit - b'0'))
}
