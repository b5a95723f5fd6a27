//! Reads a whole list page by page, whatever carries it: cursors, limits, restarts, and whether the list held still.
//!
//! A page is cut into tools without touching a byte of them; what a tool says is nobody's business here.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::snapshot::{self, Outcome, RawTool};

use super::{
    Limits,
    message::{self, Reply},
    record::{Failure, Record, Try, printable},
};

/// A cursor is an opaque token; real ones have some dozen bytes. We send it back, so it must not be a burden.
const MAX_CURSOR_BYTES: usize = 64 << 10;
/// Listings that are taken of a list that moves, until two in a row are equal.
const MAX_LISTINGS: usize = 3;

/// A server on which the era is settled.
pub(super) trait Peer {
    /// What was seen so far.
    fn record(&mut self) -> &mut Record;
    /// What a listing may cost.
    fn limits(&self) -> &Limits;
    /// Asks for one page.
    async fn page(&mut self, cursor: Option<&RawValue>) -> Try<Reply>;
    /// Takes in what has arrived meanwhile, without waiting for anything.
    async fn catch_up(&mut self) -> Try<()>;
}

/// Reads the list into the record. It is read once, and again only where something suggests that it moved meanwhile.
pub(super) async fn read(peer: &mut impl Peer) -> Try<()> {
    read_once(peer).await?;
    let mut listings = 1;
    while moved(peer.record()) {
        let before = std::mem::take(&mut peer.record().tools);
        read_once(peer).await?;
        listings += 1;
        if same(&before, &peer.record().tools) {
            break;
        }
        if listings == MAX_LISTINGS {
            let name = peer.record().name();
            let message = format!("{name} listed other tools each time, {MAX_LISTINGS} times in a row");
            return Err(Failure::new(Outcome::Unstable, message)
                .help("wait until the server has loaded its tools, then take the snapshot again"));
        }
        peer.record().warn("the list changed while it was read; it was read again");
    }
    Ok(())
}

/// The server said so, or a tool stands on two pages: the list shifted under the cursor.
fn moved(record: &Record) -> bool {
    record.changed || {
        let distinct: HashSet<&str> = record.tools.iter().map(|t| t.raw.get()).collect();
        record.evidence.pages > 1 && distinct.len() < record.tools.len()
    }
}

fn same(a: &[RawTool], b: &[RawTool]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.raw.get() == b.raw.get())
}

/// One complete reading. An error after page 1 restarts it once, as the specification asks; then it is partial.
async fn read_once(peer: &mut impl Peer) -> Try<()> {
    let Err(first) = read_pages(peer).await else { return Ok(()) };
    let record = peer.record();
    let (pages, bytes) = (record.evidence.pages, record.evidence.bytes);
    if pages == 0 || !interrupts(&first) {
        return Err(first);
    }
    if first.retry_after.is_some() {
        return Err(partial(pages, first));
    }
    record.warn(format!(
        "page {} failed ({}); the list was read again from page 1",
        pages + 1,
        first.message
    ));
    let tools = std::mem::take(&mut record.tools);
    let Err(second) = read_pages(peer).await else { return Ok(()) };
    let record = peer.record();
    if !interrupts(&second) {
        return Err(second);
    }
    if record.evidence.pages == 0 {
        // The server is gone; what the first reading brought is the better evidence.
        record.tools = tools;
        (record.evidence.pages, record.evidence.bytes) = (pages, bytes);
    }
    Err(partial(record.evidence.pages, second))
}

/// Whether the failure broke a listing off, rather than showing that it can never be good.
fn interrupts(failure: &Failure) -> bool {
    matches!(failure.outcome, Outcome::Error | Outcome::Unavailable)
}

fn partial(pages: usize, mut failure: Box<Failure>) -> Box<Failure> {
    failure.outcome = Outcome::Partial;
    failure.message = format!("the list broke off after page {pages}: {}", failure.message);
    failure
}

async fn read_pages(peer: &mut impl Peer) -> Try<()> {
    let record = peer.record();
    record.tools.clear();
    record.changed = false;
    record.evidence.pages = 0;
    record.evidence.bytes = 0;
    let mut seen: HashSet<Box<str>> = HashSet::new();
    let mut cursor: Option<Box<RawValue>> = None;
    loop {
        let reply = peer.page(cursor.as_deref()).await?;
        let limits = peer.limits().clone();
        cursor = take_page(peer.record(), &limits, reply)?;
        let Some(next) = &cursor else { break };
        let record = peer.record();
        let endless = |outcome, cause: String| {
            Err(Failure::new(outcome, format!("{} lists its tools without end: {cause}", record.name())).help(
                "the server's paging is broken: the last page must have no `nextCursor`; report it to its author",
            ))
        };
        if next.get().len() > MAX_CURSOR_BYTES {
            return endless(
                Outcome::TooLarge,
                format!("a cursor has {} bytes, the limit is {MAX_CURSOR_BYTES}", next.get().len()),
            );
        }
        if !seen.insert(next.get().into()) {
            let page = record.evidence.pages;
            return endless(Outcome::Malformed, format!("page {page} has a cursor that was used before"));
        }
        if record.evidence.pages >= limits.pages {
            return endless(Outcome::TooLarge, format!("the limit is {} pages", limits.pages));
        }
    }
    peer.catch_up().await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    tools: Option<&'a RawValue>,
    #[serde(borrow, default)]
    next_cursor: Option<&'a RawValue>,
    #[serde(borrow, default)]
    ttl_ms: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_scope: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result_type: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(d: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

/// Adds a page to the record; gives the cursor of the next. `""` is a cursor, `null` is none.
fn take_page(record: &mut Record, limits: &Limits, reply: Reply) -> Try<Option<Box<RawValue>>> {
    let name = record.name();
    let result = reply.map_err(|error| {
        let help = if message::code(&error) == Some(-32601) {
            "the server offers no tools, or is no MCP server; see its documentation"
        } else {
            "see the server's own log; the list is not empty, it could not be read"
        };
        Failure::new(
            Outcome::Error,
            format!("{name} answered `tools/list` with error {}", message::describe(&error)),
        )
        .help(help)
        .rpc_error(error)
    })?;
    let text = result.get();
    let malformed = |cause: &str| {
        Failure::new(Outcome::Malformed, format!("{name} answered `tools/list` with something else: {cause}"))
            .help("the result must be {\"tools\":[…]}; report it to the server's author")
    };
    if !text.starts_with('{') {
        return Err(malformed(&format!("the result is {}", kind(text))));
    }
    let page: Page<'_> = serde_json::from_str(text).map_err(|e| malformed(&e.to_string()))?;
    if let Some(result_type) = page.result_type
        && result_type.get() != r#""complete""#
    {
        return Err(malformed(&format!("`resultType` is {}", printable(result_type.get(), 60))));
    }
    let tools = page.tools.ok_or_else(|| malformed("it has no `tools`"))?.get();
    if !tools.starts_with('[') {
        return Err(malformed(&format!("`tools` is {}", kind(tools))));
    }
    let tools = snapshot::split(tools).map_err(|e| malformed(&e.to_string()))?;

    record.evidence.pages += 1;
    record.evidence.bytes += text.len();
    let first = record.tools.len();
    record.tools.extend(tools.into_iter().map(|t| RawTool { index: first + t.index, raw: t.raw }));
    let too_large = |what: String| {
        Err(Failure::new(Outcome::TooLarge, format!("{name} lists too much: {what}"))
            .help("if the server is meant to be so large, split it"))
    };
    if record.evidence.bytes > limits.total_bytes {
        return too_large(format!("{} bytes, the limit is {}", record.evidence.bytes, limits.total_bytes));
    }
    if record.tools.len() > limits.tools {
        return too_large(format!("{} tools, the limit is {}", record.tools.len(), limits.tools));
    }
    if record.evidence.pages == 1 {
        record.provenance.ttl_ms = page.ttl_ms.and_then(|raw| serde_json::from_str(raw.get()).ok());
        record.provenance.cache_scope = page.cache_scope.and_then(|raw| serde_json::from_str(raw.get()).ok());
    }
    match page.next_cursor {
        None => Ok(None),
        Some(cursor) if cursor.get().starts_with('"') => Ok(Some(cursor.to_owned())),
        Some(cursor) => Err(malformed(&format!("`nextCursor` is {}, not a string", kind(cursor.get())))),
    }
}

/// What kind of value a JSON text is.
fn kind(text: &str) -> &'static str {
    match text.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
