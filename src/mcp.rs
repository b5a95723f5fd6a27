//! A raw MCP client: paged `tools/list` to a [`Listing`], every byte kept.
//!
//! Our own, because the official SDK drops fields, loses whole pages on one odd tool and hangs on bad lines. It asks,
//! it never acts: no tool is called, nothing a server names is fetched (but for who issues tokens, where its user named a
//! client), no capability is declared that a server could use. In reading order: `era` says how a conversation begins,
//! `message` what travels, `pages` how a list is read, `room` what that
//! may take, `progress` how far it has come, `stdio` and `http` how it gets there, `oauth` who we are, `changes`
//! how a server is followed; `command` says what is shown of a server's command, `credential` runs what prints one,
//! `demo` is a server to try.

mod changes;
mod command;
pub mod credential;
pub mod demo;
mod era;
mod http;
mod message;
mod oauth;
mod package;
mod pages;
mod process;
mod progress;
mod record;
mod room;
mod spoken;
mod sse;
mod stdio;

use std::{collections::HashSet, fmt, path::PathBuf, time::Duration};

use crate::{
    catalog::server::HttpTransport,
    contract::Contract,
    json::{self, Digest},
    secret,
    snapshot::{Listing, Outcome, RawTool},
};

pub use crate::reach::{IpNet, Reach};
pub use changes::{Ended, changes};
pub use oauth::{OAuth, Tokens};
use process::Start;
pub use progress::{Progress, Step};
pub use record::{CHANGE_IT, lists_a_secret};
use record::{Failure, Record, Sent, Try, printable};
pub use room::Room;
pub use spoken::Eras;

/// Where a server is found. Made by [`Source::stdio`] or [`Source::http`], which refuse what can never work.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A command to run; speaks over stdin and stdout.
    Stdio {
        /// The program.
        program: String,
        /// Its arguments. Never seen by a shell.
        args: Vec<String>,
        /// Variables beside the few that every server gets. Values are secrets: never stored or printed.
        env: Vec<(String, String)>,
        /// The folder it is started in; our own where there is none.
        cwd: Option<PathBuf>,
    },
    /// A Streamable HTTP endpoint, or one of HTTP+SSE; which, is found out.
    Http {
        /// The URL.
        url: String,
        /// Extra headers. Values are secrets: they are sent and never stored or printed.
        headers: Vec<(String, String)>,
        /// The client as which access is had, where it has to be had so.
        oauth: Option<Box<OAuth>>,
        /// Which of the two transports it speaks; found out where nobody says.
        transport: HttpTransport,
    },
}

/// Why something is no place where a server can be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Nothing to run.
    #[error("the server's command is empty; give a program and its arguments after `--`")]
    NoCommand,
    /// Not a URL we can speak to. The URL itself is left out where it may hold a secret.
    #[error("`{url}` is no URL of an MCP server: {cause}; expected something like https://example.com/mcp")]
    Url {
        /// The URL, cut.
        url: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A header that cannot be sent.
    #[error("the header `{name}` cannot be sent: {cause}")]
    Header {
        /// Its name; the value is a secret.
        name: String,
        /// What is wrong with it.
        cause: &'static str,
    },
    /// A client that can have no tokens.
    #[error("the client credentials cannot be used: {0}")]
    OAuth(String),
}

impl Source {
    /// A command to run.
    ///
    /// # Errors
    /// Where the command is empty.
    pub fn stdio(command: Vec<String>) -> Result<Self, SourceError> {
        let mut words = command.into_iter();
        match words.next() {
            Some(program) if !program.is_empty() => Ok(Self::command(program, words.collect())),
            _ => Err(SourceError::NoCommand),
        }
    }

    /// A program and its arguments, started in our folder and without variables of its own.
    #[must_use]
    pub fn command(program: String, args: Vec<String>) -> Self {
        Self::Stdio { program, args, env: Vec::new(), cwd: None }
    }

    /// An HTTP endpoint, with headers to send on every request.
    ///
    /// # Errors
    /// Where the URL is no http(s) URL, or a header cannot be sent or is the protocol's own.
    pub fn http(url: &str, headers: Vec<(String, String)>) -> Result<Self, SourceError> {
        http::Endpoint::parse(url, &headers)?;
        Ok(Self::Http { url: url.to_owned(), headers, oauth: None, transport: HttpTransport::Auto })
    }

    /// The same, with access by the tokens that this client gets.
    ///
    /// # Errors
    /// Where it is no client, or access is had otherwise already.
    pub fn with_oauth(self, client: OAuth) -> Result<Self, SourceError> {
        client.check()?;
        match self {
            Self::Http { headers, .. } if headers.iter().any(|(name, _)| is_authorization(name)) => {
                Err(SourceError::OAuth("a header `Authorization` stands beside them".to_owned()))
            }
            Self::Http { url, headers, oauth: _, transport } => {
                Ok(Self::Http { url, headers, oauth: Some(Box::new(client)), transport })
            }
            Self::Stdio { .. } => Err(SourceError::OAuth("they are for a URL, not for a command".to_owned())),
        }
    }

    /// What is sent to it that nobody is to read, should it say it back: header values, and each word of them.
    fn secrets(&self) -> Vec<Sent> {
        let Self::Http { headers, .. } = self else { return Vec::new() };
        let mut secrets = Vec::new();
        for (name, value) in headers {
            let words = std::iter::once(value.as_str()).chain(value.split_whitespace());
            secrets.extend(words.filter(|word| !word.eq_ignore_ascii_case("bearer")).map(|word| Sent {
                name: format!("what was sent as `{}`", printable(name, 60)),
                value: word.to_owned(),
                is_secret: secret::is_one(name, word),
            }));
        }
        // The longest first: one may be a part of another.
        secrets.sort_by_key(|sent| std::cmp::Reverse(sent.value.len()));
        secrets.dedup_by(|a, b| a.value == b.value);
        secrets
    }

    /// The same, spoken to as its user says.
    #[must_use]
    pub fn with_transport(mut self, spoken: HttpTransport) -> Self {
        if let Self::Http { transport, .. } = &mut self {
            *transport = spoken;
        }
        self
    }

    /// What people see of it: the command line without the values that its names call secret, or the URL without user
    /// info and query.
    #[must_use]
    pub fn target(&self) -> String {
        match self {
            Self::Stdio { program, args, .. } => command::shown(program, args),
            Self::Http { url, .. } => http::without_secrets(url),
        }
    }
}

/// The header that a token is sent in.
#[must_use]
pub fn is_authorization(header: &str) -> bool {
    header.trim().eq_ignore_ascii_case("authorization")
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Header values, some arguments, and the URL's user info and query are secrets.
        let kind = match self {
            Self::Stdio { .. } => "Stdio",
            Self::Http { .. } => "Http",
        };
        f.debug_tuple(kind).field(&self.target()).finish()
    }
}

/// How much a listing may cost, and what it may touch. Every limit ends in an outcome that names it.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From start to the first answer; a cold `npx` can need 25 s.
    pub start: Duration,
    /// How long `server/discover` may stay unanswered before `initialize` is sent as well. Legacy servers exist that
    /// ignore what they do not know; a server that is merely slow to start loses nothing by it.
    pub probe: Duration,
    /// One request.
    pub request: Duration,
    /// The whole listing.
    pub total: Duration,
    /// Bytes of one message (a stdio line, an HTTP body, an SSE event).
    pub message_bytes: usize,
    /// Bytes of all pages of a listing: the tools and the lists beside them together.
    pub total_bytes: usize,
    /// Pages of a list.
    pub pages: usize,
    /// Tools, and items of any other list.
    pub tools: usize,
    /// What all listings that go on at once may hold together.
    pub room: Room,
    /// What servers were found to speak before, which is asked first then.
    pub eras: Eras,
    /// Which machines may be talked to over HTTP.
    pub reach: Reach,
    /// The digest of the tools as they were known before. A list that is another is read twice before it is believed: it
    /// may have shifted under the cursor, or be another each time.
    pub known: Option<Digest>,
    /// Who looks on.
    pub progress: Progress,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(120),
            probe: Duration::from_secs(2),
            request: Duration::from_secs(30),
            total: Duration::from_secs(240),
            message_bytes: 16 << 20,
            total_bytes: 64 << 20,
            pages: 1_000,
            tools: 10_000,
            room: Room::default(),
            eras: Eras::default(),
            reach: Reach::default(),
            known: None,
            progress: Progress::default(),
        }
    }
}

/// Lists a server's tools, and what else it declares to have. Never fails: how it ended is the listing's outcome.
///
/// Dropping the future ends a server that was started for it, children included.
pub async fn list(source: &Source, limits: &Limits) -> Listing {
    listed(source, limits, true).await
}

/// Lists a server's tools alone.
pub async fn list_tools(source: &Source, limits: &Limits) -> Listing {
    listed(source, limits, false).await
}

async fn listed(source: &Source, limits: &Limits, everything: bool) -> Listing {
    let mut record = Record::of(source, limits);
    record.everything = everything;
    let ended = match source {
        Source::Stdio { program, args, env, cwd } => {
            let start = Start { program, args, env, cwd: cwd.as_deref() };
            stdio::list(&start, limits, &mut record).await
        }
        Source::Http { url, headers, oauth, transport } => {
            let to = http::To { url, headers, oauth: oauth.as_deref(), transport: *transport };
            http::list(&to, limits, &mut record).await
        }
    };
    let ended = ended.and_then(|()| judge(&mut record));
    record.into_listing(ended)
}

/// A complete list is `ok` only where every tool makes a contract. Names that occur twice are only noted here.
fn judge(record: &mut Record) -> Try<()> {
    let tools = std::mem::take(&mut record.tools);
    let ended = judge_tools(&tools, record);
    record.tools = tools;
    ended
}

fn judge_tools(tools: &[RawTool], record: &mut Record) -> Try<()> {
    let mut names = HashSet::new();
    let mut unreadable = Vec::new();
    for tool in tools {
        match Contract::of(tool) {
            Ok(contract) => {
                if names.replace(contract.name.clone()).is_some() {
                    record.warn(format!(
                        "the tool name `{}` occurs more than once; names must be unique within a server",
                        printable(&contract.name, 128)
                    ));
                }
            }
            Err(error) => {
                record.warn(printable(&error.to_string(), 300));
                unreadable.push((tool, error));
            }
        }
    }
    let Some((tool, first)) = unreadable.first() else { return Ok(()) };
    let others = match unreadable.len() - 1 {
        0 => String::new(),
        1 => ", and one more like it".to_owned(),
        n => format!(", and {n} more like it"),
    };
    let outcome = if json::is_excessive(tool.raw.get()) { Outcome::TooLarge } else { Outcome::Malformed };
    let message = format!(
        "{} listed a tool that cannot be read: {}{others}",
        record.name(),
        printable(&first.to_string(), 300)
    );
    Err(Failure::new(outcome, message)
        .help("the server has to list every tool with a name and an object as `inputSchema`; report it to its author"))
}
