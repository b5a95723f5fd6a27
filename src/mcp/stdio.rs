//! The stdio transport: one message a line, both ways, and a process behind it.
//!
//! Lines are read with a cap and told apart by what they are, never by when they come: logs, notifications and requests
//! of the server's may stand anywhere between two answers.

mod follow;

use std::{io, process::ExitStatus};

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt},
    time::{Duration, Instant, timeout_at},
};

use crate::snapshot::Outcome;

use super::{
    Limits,
    era::{self, Dialect, Discovery, Over},
    message::{self, Id, Message, Reply},
    package,
    pages::{self, Peer},
    process::{Process, Start},
    record::{Failure, Record, Try, printable},
    room::Share,
    spoken::{Key, Spoken},
};

pub(super) use follow::follow;

/// Lines taken in after the last page: more than a server says at once, fewer than would cost time.
const MAX_CATCH_UP: usize = 1_000;

/// When a server went away that owes an answer.
const BEFORE: &str = "before it answered";

/// Starts the server, lists its tools, ends it.
pub(super) async fn list(start: &Start<'_>, limits: &Limits, record: &mut Record) -> Try<()> {
    let mut connection = Connection::open(start, limits, record)?;
    let begun = connection.begin(start).await;
    connection.finish(begun).await
}

/// How a handshake ended that did not fail.
enum Begun {
    /// The era is known.
    Settled,
    /// The process ended before it said anything of use.
    Gone,
}

struct Connection<'a> {
    process: Process,
    /// What was read of a line that is not complete.
    partial: Vec<u8>,
    last_id: u64,
    /// Requests without an answer, oldest first.
    pending: Vec<u64>,
    /// The subscription that has not ended.
    subscription: Option<u64>,
    dialect: Dialect,
    limits: &'a Limits,
    record: &'a mut Record,
    deadline: Instant,
}

/// What one line brought.
enum Heard {
    Answer(u64, Reply),
    /// Something that answers nothing.
    Other,
    /// No line until then.
    Silence,
    /// There are no more lines.
    End,
}

/// What waiting for an answer brought.
enum Received {
    Answer(u64, Reply),
    /// Nothing until then.
    Silence,
    /// The server closed its side.
    Gone,
}

impl<'a> Connection<'a> {
    fn open(start: &Start<'_>, limits: &'a Limits, record: &'a mut Record) -> Try<Self> {
        record.provenance.package = package::of(start.program, start.args);
        Ok(Self {
            process: started(start)?,
            partial: Vec::new(),
            last_id: 0,
            pending: Vec::new(),
            subscription: None,
            dialect: Dialect::Modern(era::MODERN.to_owned()),
            deadline: record.share.now() + limits.total,
            limits,
            record,
        })
    }

    // -- how a conversation begins ----------------------------------------------------------------------------------

    /// Finds out the era. Some servers end on a request that they do not know: they are started once more, and asked the
    /// legacy way straight away.
    async fn begin(&mut self, start: &Start<'_>) -> Try<Begun> {
        let key = Key::of_command(start.program, start.args);
        let known = self.limits.eras.get(&key);
        self.limits.eras.forget(&key);
        let mut begun = match known {
            Some(Spoken::Legacy) => self.begin_as_before(start).await?,
            Some(Spoken::Modern | Spoken::HttpSse) | None => self.discover(known.is_some()).await?,
        };
        if matches!(begun, Begun::Gone) {
            self.restart(start).await?;
            begun = self.initialize(None, self.until(self.limits.start)).await?;
        }
        if matches!(begun, Begun::Settled) {
            let modern = matches!(self.dialect, Dialect::Modern(_));
            self.limits.eras.put(key, if modern { Spoken::Modern } else { Spoken::Legacy });
            self.note_package();
        }
        Ok(begun)
    }

    /// Asks the legacy way, as it was found to speak. Where it refuses that, it is another now, and asked from the start.
    async fn begin_as_before(&mut self, start: &Start<'_>) -> Try<Begun> {
        match self.initialize(None, self.until(self.limits.start)).await {
            Ok(Begun::Settled) => Ok(Begun::Settled),
            Err(failure) if !matches!(failure.outcome, Outcome::Error | Outcome::Malformed) => Err(failure),
            Ok(Begun::Gone) | Err(_) => {
                self.restart(start).await?;
                self.discover(false).await
            }
        }
    }

    async fn restart(&mut self, start: &Start<'_>) -> Try<()> {
        self.close().await;
        self.process = started(start)?;
        self.partial.clear();
        self.pending.clear();
        self.last_id = 0;
        Ok(())
    }

    /// Asks the modern way first. A server that says nothing for a while is asked the legacy way as well, on the same
    /// pipe: whether it is slow or does not know the question, the first answer tells. An error that comes late still
    /// answers the question with its id, so neither is taken for the other.
    async fn discover(&mut self, known: bool) -> Try<Begun> {
        let until = self.until(self.limits.start);
        // One that was found to know it is only slow.
        let patience = if known { until } else { self.until(self.limits.probe).min(until) };
        let mut again = 0;
        let mut discover = self.send("server/discover", &self.dialect.params(None)).await;
        let mut initialize = None;
        let mut refusal: Option<Reply> = None;
        loop {
            let wait = if initialize.is_none() { patience } else { until };
            match self.receive(wait).await? {
                Received::Gone => return Ok(Begun::Gone),
                Received::Silence if initialize.is_none() && self.now() < until => {
                    initialize = Some(self.send("initialize", &era::initialize_params()).await);
                }
                Received::Silence => match refusal {
                    Some(refusal) => return self.settle(refusal).await,
                    None => return Err(self.timeout("say anything", self.limits.start)),
                },
                Received::Answer(id, reply) if id == discover => {
                    match era::discovery(&reply, again, Over::Stdio) {
                        Discovery::Modern { version, about } => {
                            self.dialect = era::note_discovery(self.record, &version, &about);
                            return Ok(Begun::Settled);
                        }
                        Discovery::AskAgain(version) => {
                            let dialect = Dialect::Modern(version);
                            again += 1;
                            discover = self.send("server/discover", &dialect.params(None)).await;
                        }
                        Discovery::Refused(error) => return Err(era::refused(self.record, error)),
                        Discovery::Legacy => match refusal {
                            Some(refusal) => return self.settle(refusal).await,
                            None => return self.initialize(initialize, until).await,
                        },
                    }
                }
                Received::Answer(id, reply) if Some(id) == initialize => match reply {
                    Ok(_) => return self.settle(reply).await,
                    // A modern server has to refuse this; its answer to the first question counts.
                    Err(_) => refusal = Some(reply),
                },
                Received::Answer(..) => {}
            }
        }
    }

    /// Waits for the answer to `initialize`, which may have been sent before.
    async fn initialize(&mut self, sent: Option<u64>, until: Instant) -> Try<Begun> {
        let id = match sent {
            Some(id) => id,
            None => self.send("initialize", &era::initialize_params()).await,
        };
        let until = until.max(self.until(self.limits.request)).min(self.deadline);
        loop {
            match self.receive(until).await? {
                Received::Answer(answered, reply) if answered == id => return self.settle(reply).await,
                Received::Answer(..) => {}
                Received::Silence => return Err(self.timeout("answer `initialize`", self.limits.request)),
                Received::Gone => return Ok(Begun::Gone),
            }
        }
    }

    async fn settle(&mut self, reply: Reply) -> Try<Begun> {
        self.dialect = era::note_initialize(self.record, reply)?;
        self.write(&message::notification("notifications/initialized")).await;
        Ok(Begun::Settled)
    }

    // -- what travels -----------------------------------------------------------------------------------------------

    async fn send(&mut self, method: &str, params: &impl Serialize) -> u64 {
        self.last_id += 1;
        self.pending.push(self.last_id);
        let request = message::request(self.last_id, method, params);
        self.write(&request).await;
        self.last_id
    }

    /// Writes a line. A failure is not told here: what the server said before it went away is worth reading, and its
    /// end shows when reading.
    async fn write(&mut self, message: &str) {
        let until = self.record.share.until(self.until(self.limits.request));
        let Some(stdin) = &mut self.process.stdin else { return };
        let line = format!("{message}\n");
        if !matches!(timeout_at(until, stdin.write_all(line.as_bytes())).await, Ok(Ok(()))) {
            self.process.stdin = None;
        }
    }

    /// Reads until one of our requests is answered.
    async fn receive(&mut self, until: Instant) -> Try<Received> {
        loop {
            match self.line(until).await? {
                Heard::Answer(id, reply) => return Ok(Received::Answer(id, reply)),
                // A server that never stops talking has not answered either.
                Heard::Other if self.now() < until => {}
                Heard::Other | Heard::Silence => return Ok(Received::Silence),
                Heard::End => return Ok(Received::Gone),
            }
        }
    }

    /// Reads one line and deals with it.
    async fn line(&mut self, until: Instant) -> Try<Heard> {
        let limit = self.limits.message_bytes;
        let share = self.record.share.clone();
        let read = loop {
            let read = next_line(&mut self.process.stdout, &mut self.partial, limit, &share);
            match timeout_at(share.until(until), read).await {
                Ok(Ok(Line::NoRoom(more))) => share.hold(more).await,
                read => break read,
            }
        };
        match read {
            Err(_) => Ok(Heard::Silence),
            Ok(Ok(Line::End) | Err(_)) => Ok(Heard::End),
            Ok(Ok(Line::TooLong | Line::NoRoom(_))) => {
                let message = format!("{} sent a line of more than {limit} bytes", self.record.name());
                Err(Failure::new(Outcome::TooLarge, message)
                    .help("the limit is for one message; a server with so many tools has to page them"))
            }
            Ok(Ok(Line::Complete)) => {
                let line = std::mem::take(&mut self.partial);
                Ok(self.take_line(&line).await.map_or(Heard::Other, |(id, reply)| Heard::Answer(id, reply)))
            }
        }
    }

    /// Deals with one line; gives what it answers. Of a batch with several answers the last counts: we never have more
    /// than one question open that matters.
    async fn take_line(&mut self, line: &[u8]) -> Option<(u64, Reply)> {
        let Some(read) = message::read(line) else {
            self.record.stray(line);
            return None;
        };
        if read.unversioned {
            self.record.warn("sends messages without `jsonrpc`");
        }
        let mut answer = None;
        for message in read.messages {
            match message {
                Message::Request { id, method } => self.write(&message::answer(&id, &method)).await,
                Message::Notification { method, params } => self.record.hear(&method, params.as_deref()),
                // A subscription is answered when it ends, whoever waits for something else then.
                Message::Reply { id: Id::Number(id), .. }
                    if Some(id) == self.subscription && !self.pending.contains(&id) =>
                {
                    self.subscription = None;
                }
                Message::Reply { id, reply } => match self.whose(id, &reply) {
                    Some(id) => {
                        self.pending.retain(|pending| *pending != id);
                        answer = Some((id, reply));
                    }
                    None => self.record.stray(line),
                },
            }
        }
        answer
    }

    /// Which of our requests this answers. An error without an id answers the oldest that is open.
    fn whose(&mut self, id: Id, reply: &Reply) -> Option<u64> {
        match id {
            Id::Number(id) => self.pending.contains(&id).then_some(id),
            Id::None if reply.is_err() => {
                self.record.warn("sends errors without the id of the request");
                self.pending.first().copied()
            }
            Id::None | Id::Foreign => None,
        }
    }

    // -- how it ends ------------------------------------------------------------------------------------------------

    /// The end of a budget that starts now.
    fn until(&self, budget: Duration) -> Instant {
        (self.now() + budget).min(self.deadline)
    }

    /// The time without what was waited for room.
    fn now(&self) -> Instant {
        self.record.share.now()
    }

    fn timeout(&self, what: &str, budget: Duration) -> Box<Failure> {
        let name = self.record.name();
        let message = if self.now() >= self.deadline {
            format!("listing {name} took longer than {:?}", self.limits.total)
        } else {
            format!("{name} did not {what} within {budget:?}")
        };
        let help = match self.record.evidence.stray_lines {
            0 => "check that the command is an MCP server that speaks over stdin and stdout".to_owned(),
            n => format!(
                "it wrote {n} lines to stdout that are no JSON-RPC; logs belong on stderr, a message on one line"
            ),
        };
        Failure::new(Outcome::Timeout, message).help(help)
    }

    /// The failure of a server that closed its side.
    async fn gone(&mut self, when: &str) -> Box<Failure> {
        let name = self.record.name();
        let how = match self.process.ended().await {
            Some(status) => {
                self.record.evidence.exit_code = status.code();
                how_it_ended(status)
            }
            None => "closed its stdout".to_owned(),
        };
        Failure::new(Outcome::Unavailable, format!("{name} {how} {when}"))
            .help("its stderr may tell why; try the command in a shell")
    }

    /// Lists where the conversation has begun, and ends the server.
    async fn finish(mut self, begun: Try<Begun>) -> Try<()> {
        let ended = match begun {
            Ok(Begun::Settled) => pages::read(&mut self).await,
            Ok(Begun::Gone) => Err(self.gone(BEFORE).await),
            Err(failure) => Err(failure),
        };
        self.record.answered();
        self.close().await;
        ended
    }

    /// Reads off which version of its package runs, now that it runs.
    fn note_package(&mut self) {
        if let (Some(package), Some(group)) = (&mut self.record.provenance.package, self.process.group) {
            package.version = package::version(package, group);
        }
    }

    async fn close(&mut self) {
        self.process.stop().await;
        self.record.evidence.stderr_tail = self.process.stderr_tail();
    }
}

impl Peer for Connection<'_> {
    fn record(&mut self) -> &mut Record {
        self.record
    }

    fn limits(&self) -> &Limits {
        self.limits
    }

    async fn page(&mut self, method: &'static str, cursor: Option<&RawValue>) -> Try<Reply> {
        let until = self.until(self.limits.request);
        let params = self.dialect.params(cursor);
        let id = self.send(method, &params).await;
        loop {
            match self.receive(until).await? {
                Received::Answer(answered, reply) if answered == id => return Ok(reply),
                Received::Answer(..) => {}
                Received::Silence => {
                    return Err(self.timeout(&format!("answer `{method}`"), self.limits.request));
                }
                Received::Gone => return Err(self.gone(BEFORE).await),
            }
        }
    }

    async fn catch_up(&mut self) -> Try<()> {
        for _ in 0..MAX_CATCH_UP {
            match self.line(self.now()).await? {
                Heard::Answer(..) | Heard::Other => {}
                Heard::Silence | Heard::End => break,
            }
        }
        Ok(())
    }
}

fn started(start: &Start<'_>) -> Try<Process> {
    Process::start(start).map_err(|error| {
        let program = printable(start.program, 120);
        let (cause, help) = match error.kind() {
            // The system says the same of a folder that is not there as of a program.
            io::ErrorKind::NotFound if start.cwd.is_some_and(|cwd| !cwd.is_dir()) => {
                ("the folder it is to start in does not exist", "check its `cwd`")
            }
            io::ErrorKind::NotFound => ("there is no such program", "check its spelling and `PATH`"),
            io::ErrorKind::PermissionDenied => ("it may not be executed", "check the file's permissions"),
            _ => ("the system refused", "try the command in a shell"),
        };
        let message = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                format!("`{program}` could not be started: {cause}")
            }
            _ => format!("`{program}` could not be started: {cause}: {error}"),
        };
        Failure::new(Outcome::Unavailable, message).help(help)
    })
}

fn how_it_ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

enum Line {
    /// It is in the buffer, without its end.
    Complete,
    /// It has more bytes than the limit.
    TooLong,
    /// It has so many bytes, for which there is no room yet.
    NoRoom(usize),
    /// There is none.
    End,
}

/// Reads to the end of a line into `partial`, never more than `limit` bytes. Safe to cancel: what was read stays.
async fn next_line(
    from: &mut (impl AsyncBufRead + Unpin),
    partial: &mut Vec<u8>,
    limit: usize,
    share: &Share,
) -> io::Result<Line> {
    loop {
        let chunk = from.fill_buf().await?;
        if chunk.is_empty() {
            // The last line of a server that ends may lack its end.
            return Ok(if partial.is_empty() { Line::End } else { Line::Complete });
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        if partial.len() + taken > limit {
            return Ok(Line::TooLong);
        }
        if !share.has(partial.len() + taken) {
            return Ok(Line::NoRoom(partial.len() + taken));
        }
        partial.extend_from_slice(&chunk[..taken]);
        from.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            return Ok(Line::Complete);
        }
    }
}
