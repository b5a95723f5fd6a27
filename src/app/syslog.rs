//! The log as a syslog receiver is sent it: RFC 5424, one message an event, its line of an export as the text.
//!
//! How far a receiver was sent it stands in the database, so that nothing is left out across restarts: an event is sent at
//! least once, and again where a process ended in between or several send to the same receiver. Receivers tell a repetition
//! by `seq`. What a receiver got is not known, for the protocol has no answer: over UDP a message may be lost on the way,
//! over TCP what was under way when a connection broke.

use std::{fmt, io, path::PathBuf, str::FromStr, time::Duration};

use chrono::SecondsFormat;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpStream, UdpSocket, UnixDatagram},
    time,
};

use super::{App, AppError, Kind, audit};
use crate::catalog::Event;

/// Facility 13 (log audit), severity 5 (notice).
const PRIORITY: u8 = 13 * 8 + 5;
/// The longest message that is sent as a datagram.
const MOST_BYTES: usize = 60_000;
/// How long a connection and a write may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two tries, at first and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Who is sent the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// Datagrams to HOST:PORT.
    Udp(String),
    /// A stream to HOST:PORT, each message with its length before it (RFC 6587).
    Tcp(String),
    /// Datagrams to a socket of this machine.
    Unix(PathBuf),
}

impl FromStr for Receiver {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let host = |rest: &str| {
            let named = rest.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            });
            if named { Ok(rest.to_owned()) } else { Err(format!("`{rest}` is not written HOST:PORT")) }
        };
        match text.split_once(':') {
            Some(("udp", rest)) => host(rest.trim_start_matches("//")).map(Self::Udp),
            Some(("tcp", rest)) => host(rest.trim_start_matches("//")).map(Self::Tcp),
            Some(("unix", path)) if path.starts_with('/') => {
                Ok(Self::Unix(path.strip_prefix("//").unwrap_or(path).into()))
            }
            _ => Err("a receiver is written udp://HOST:PORT, tcp://HOST:PORT or unix:/PATH".to_owned()),
        }
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Udp(host) => write!(f, "udp://{host}"),
            Self::Tcp(host) => write!(f, "tcp://{host}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl App {
    /// Sends the log to a receiver until the service stops, from where it was left.
    pub async fn send_syslog(self, receiver: Receiver) {
        let mut pause = PAUSE.0;
        loop {
            let before = time::Instant::now();
            match self.send_on(&receiver).await {
                Ok(()) => return,
                Err(error) => tracing::warn!("the log is not sent to `{receiver}`: {error}"),
            }
            // One that was sent to for a while is tried again at once.
            pause = if before.elapsed() > PAUSE.1 { PAUSE.0 } else { pause };
            time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    async fn send_on(&self, receiver: &Receiver) -> Result<(), AppError> {
        let name = receiver.to_string();
        let from = self.store.cursor(&name).await?.unwrap_or(0);
        let mut followed = self.follow_events(Some(from)).await?;
        let mut line = within(Line::open(receiver)).await.map_err(|e| unsent(receiver, &e))?;
        while let Some(events) = followed.next().await? {
            for event in &events {
                let message = message(event, line.most_bytes())?;
                within(line.send(&message)).await.map_err(|e| unsent(receiver, &e))?;
            }
            if let Some(last) = events.last() {
                self.store.set_cursor(&name, last.seq).await?;
            }
        }
        Ok(())
    }
}

/// A way to a receiver.
enum Line {
    Udp(UdpSocket),
    Tcp(TcpStream),
    Unix(UnixDatagram),
}

impl Line {
    async fn open(receiver: &Receiver) -> io::Result<Self> {
        Ok(match receiver {
            Receiver::Udp(host) => {
                let there = tokio::net::lookup_host(host).await?.next();
                let there = there.ok_or_else(|| io::Error::other("the name has no address"))?;
                let here = if there.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(here).await?;
                socket.connect(there).await?;
                Self::Udp(socket)
            }
            Receiver::Tcp(host) => Self::Tcp(TcpStream::connect(host).await?),
            Receiver::Unix(path) => {
                let socket = UnixDatagram::unbound()?;
                socket.connect(path)?;
                Self::Unix(socket)
            }
        })
    }

    fn most_bytes(&self) -> usize {
        match self {
            Self::Udp(_) | Self::Unix(_) => MOST_BYTES,
            Self::Tcp(_) => usize::MAX,
        }
    }

    async fn send(&mut self, message: &str) -> io::Result<()> {
        match self {
            Self::Udp(socket) => socket.send(message.as_bytes()).await.map(|_| ()),
            Self::Unix(socket) => socket.send(message.as_bytes()).await.map(|_| ()),
            Self::Tcp(stream) => {
                // A receiver that hung up is noticed before it is written to, which would be taken and lost.
                if let Ok(0) = stream.try_read(&mut [0; 64]) {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                stream.write_all(format!("{} {message}", message.len()).as_bytes()).await?;
                stream.flush().await
            }
        }
    }
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    time::timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn unsent(receiver: &Receiver, error: &io::Error) -> AppError {
    AppError::new(Kind::Unavailable, "syslog-unavailable", format!("`{receiver}` cannot be sent to: {error}"))
}

/// The message of an event. One that is too long says so instead of its particulars; its digest is still over them.
fn message(event: &Event, most: usize) -> Result<String, AppError> {
    let mut said = audit::line(event)?;
    if said.len() > most {
        let omitted = serde_json::json!({ "omittedBytes": event.data.to_string().len() });
        said = audit::line(&Event { data: omitted, ..event.clone() })?;
    }
    let at = event.at.to_rfc3339_opts(SecondsFormat::Micros, true);
    let kind: String = event.kind.chars().filter(char::is_ascii_graphic).take(32).collect();
    let kind = if kind.is_empty() { "-" } else { &kind };
    Ok(format!("<{PRIORITY}>1 {at} - toolpact - {kind} - {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::event::NewEvent;

    #[test]
    fn a_receiver_is_named_in_one_of_three_ways() {
        for (text, named) in [
            ("udp://logs:514", Some("udp://logs:514")),
            ("tcp:[::1]:601", Some("tcp://[::1]:601")),
            ("unix:/dev/log", Some("unix:/dev/log")),
            ("unix:///dev/log", Some("unix:/dev/log")),
            ("logs:514", None),
            ("udp://logs", None),
            ("tcp://:601", None),
            ("tcp://logs:0", None),
            ("unix:log", None),
            ("", None),
        ] {
            let read = text.parse::<Receiver>().ok().map(|r| r.to_string());
            assert_eq!(read.as_deref(), named, "{text}");
        }
    }

    #[test]
    fn a_message_is_one_line_whatever_an_event_holds() {
        let new = NewEvent {
            at: "2026-11-30T12:00:00Z".parse().expect("a time"),
            actor: "ann\n<109>1 - forged".to_owned(),
            kind: "draft.approved",
            subject: "catalog/orders".to_owned(),
            data: serde_json::json!({ "reason": "é".repeat(100) }),
            origin: None,
            seal: None,
        };
        let event = Event::chained(new, None);
        let whole = message(&event, usize::MAX).expect("a message");
        let head = "<109>1 2026-11-30T12:00:00.000000Z - toolpact - draft.approved - {\"seq\":1,";
        assert!(whole.starts_with(head), "{whole}");
        assert!(!whole.contains('\n') && whole.contains(r"ann\n<109>1 - forged"), "{whole}");
        let short = message(&event, 300).expect("a message");
        assert!(
            short.contains(r#""data":{"omittedBytes":213}"#) && short.contains(event.digest.as_str()),
            "{short}"
        );
    }
}
