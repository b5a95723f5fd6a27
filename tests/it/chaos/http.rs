//! A client that nobody can rely on: it gives up, hangs up, and says what it knows.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time,
};

/// How long a client waits for an answer. A service that is well answers in a hundredth of it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came of a request.
pub(super) enum Got {
    /// Nobody listened, so nothing was asked.
    NotSent,
    /// Sent, and no whole answer came.
    Nothing,
    Answer(u16, Value),
}

/// A request as it is sent, but for its host.
#[derive(Clone)]
pub(super) struct Request {
    head: String,
    body: String,
}

impl Request {
    pub(super) fn get(path: &str) -> Self {
        Self { head: format!("GET {path} HTTP/1.1\r\n"), body: String::new() }
    }

    pub(super) fn post(path: &str, generation: i64, key: &str, body: &Value) -> Self {
        let head = format!(
            "POST {path} HTTP/1.1\r\nIf-Match: \"{generation}\"\r\nIdempotency-Key: {key}\r\nContent-Type: \
             application/json\r\n"
        );
        Self { head, body: body.to_string() }
    }

    /// The same, with a token.
    pub(super) fn with(mut self, token: &str) -> Self {
        self.head += &format!("Authorization: Bearer {token}\r\n");
        self
    }

    /// Asks. Whoever hangs up does so when the request is sent.
    pub(super) async fn ask(&self, address: SocketAddr, hang_up: bool) -> Got {
        let Ok(Ok(mut stream)) = time::timeout(PATIENCE, TcpStream::connect(address)).await else {
            return Got::NotSent;
        };
        let (head, body) = (&self.head, &self.body);
        let text = format!(
            "{head}Host: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = Vec::new();
        let asked = async {
            stream.write_all(text.as_bytes()).await?;
            if hang_up { Ok(0) } else { stream.read_to_end(&mut answer).await }
        };
        match time::timeout(PATIENCE, asked).await {
            Ok(Ok(_)) => read(&answer),
            Ok(Err(_)) | Err(_) => Got::Nothing,
        }
    }
}

/// A whole answer, or nothing.
fn read(answer: &[u8]) -> Got {
    let whole = || {
        let text = std::str::from_utf8(answer).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
        });
        if body.len() != length.unwrap_or(0) {
            return None;
        }
        let json = if body.is_empty() { Value::Null } else { serde_json::from_str(body).ok()? };
        Some(Got::Answer(status, json))
    };
    whole().unwrap_or(Got::Nothing)
}
