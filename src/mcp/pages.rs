//! Reads a whole list page by page, whatever carries it: cursors, limits, restarts, and whether the list held still.
//!
//! A page is cut into its items without touching a byte of them; what a tool says is nobody's business here. The lists
//! of what a server offers beside its tools are read after those, and never change how their listing ends.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::{
    json::Digest,
    snapshot::{self, Outcome, RawItem, SurfaceKind, SurfaceListing},
};

use super::{
    Limits, Step,
    message::{self, Reply},
    record::{Changed, Failure, Partial, Record, Try, printable},
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
    /// Asks for one page of the list that this method gives.
    async fn page(&mut self, method: &'static str, cursor: Option<&RawValue>) -> Try<Reply>;
    /// Takes in what has arrived meanwhile, without waiting for anything.
    async fn catch_up(&mut self) -> Try<()>;
}

/// A list that a server gives.
struct List {
    /// Which; `None` for the tools.
    kind: Option<SurfaceKind>,
    /// The method that asks for it.
    method: &'static str,
    /// The member of the result that holds it.
    member: &'static str,
    /// What it is called here.
    noun: &'static str,
    /// What the server says when it changed.
    changed: Changed,
}

const TOOLS: List =
    List { kind: None, method: "tools/list", member: "tools", noun: "tools", changed: Changed::Tools };

fn list_of(kind: SurfaceKind) -> List {
    let (method, member, noun, changed) = match kind {
        SurfaceKind::Prompts => ("prompts/list", "prompts", "prompts", Changed::Prompts),
        SurfaceKind::Resources => ("resources/list", "resources", "resources", Changed::Resources),
        SurfaceKind::ResourceTemplates => {
            ("resources/templates/list", "resourceTemplates", "resource templates", Changed::Resources)
        }
    };
    List { kind: Some(kind), method, member, noun, changed }
}

/// Reads the tools into the record and, where everything is wanted, what else the server declares to have.
pub(super) async fn read(peer: &mut impl Peer) -> Try<()> {
    peer.record().kept = 0;
    peer.record().share.note(0);
    let ended = read_list(peer, &TOOLS).await;
    let record = peer.record();
    let list = std::mem::take(&mut record.list);
    record.kept = list.bytes;
    record.tools = list.items;
    (record.evidence.pages, record.evidence.bytes) = (list.pages, list.bytes);
    ended?;
    if record.known.is_some() {
        record.known = Some(snapshot::digest_of_list(&record.tools));
    }
    if record.everything {
        read_surfaces(peer).await;
    }
    Ok(())
}

async fn read_surfaces(peer: &mut impl Peer) {
    let mut late = None;
    for kind in SurfaceKind::ALL {
        let capabilities = peer.record().provenance.capabilities.as_ref();
        if capabilities.and_then(|c| c.get(kind.capability())).is_none_or(|c| c.is_null()) {
            continue;
        }
        let ended = match late {
            // One silence costs enough.
            Some(before) => {
                let message = format!("not asked, because `{before}` was not answered in time");
                Err(Failure::new(Outcome::Timeout, message))
            }
            None => read_list(peer, &list_of(kind)).await,
        };
        let record = peer.record();
        let list = std::mem::take(&mut record.list);
        record.surfaces.push(match ended {
            Ok(()) => {
                record.kept += list.bytes;
                SurfaceListing::read(kind, list.items)
            }
            Err(failure) => {
                if failure.outcome == Outcome::Timeout {
                    late = late.or(Some(list_of(kind).method));
                }
                SurfaceListing::failed(kind, failure.outcome, failure.message)
            }
        });
    }
}

/// Reads a list. It is read once, and again only where something suggests that it moved meanwhile.
async fn read_list(peer: &mut impl Peer, list: &List) -> Try<()> {
    read_once(peer, list).await?;
    let mut listings = 1;
    while moved(peer.record(), list) {
        // Not the items, which can be many.
        let before = exact(&std::mem::take(&mut peer.record().list.items));
        read_once(peer, list).await?;
        listings += 1;
        if before == exact(&peer.record().list.items) {
            break;
        }
        if listings == MAX_LISTINGS {
            let (name, noun) = (peer.record().name(), list.noun);
            let message = format!("{name} listed other {noun} each time, {MAX_LISTINGS} times in a row");
            return Err(Failure::new(Outcome::Unstable, message)
                .help(format!("wait until the server has loaded its {noun}, then take the snapshot again")));
        }
        peer.record().warn(of(list, "the list changed while it was read; it was read again"));
    }
    Ok(())
}

/// A warning, naming the list where it is not that of the tools.
fn of(list: &List, warning: impl Into<String>) -> String {
    let warning = warning.into();
    if list.kind.is_none() { warning } else { format!("`{}`: {warning}", list.method) }
}

/// The server said so; an item stands on two pages, for the list shifted under the cursor; or the tools are not those that
/// were known.
fn moved(record: &Record, list: &List) -> bool {
    let read = &record.list;
    record.heard.contains(&list.changed)
        || read.pages > 1 && {
            let distinct: HashSet<&str> = read.items.iter().map(|t| t.raw.get()).collect();
            distinct.len() < read.items.len()
        }
        || list.kind.is_none()
            && record.known.as_ref().is_some_and(|known| snapshot::digest_of_list(&read.items) != *known)
}

/// The digests of the items' texts: equal where those are, to the letter.
fn exact(items: &[RawItem]) -> Vec<Digest> {
    items.iter().map(|item| Digest::of_bytes(item.raw.get().as_bytes())).collect()
}

/// One complete reading. An error after page 1 restarts it once, as the specification asks; then it is partial.
async fn read_once(peer: &mut impl Peer, list: &List) -> Try<()> {
    let Err(first) = read_pages(peer, list).await else { return Ok(()) };
    let record = peer.record();
    let pages = record.list.pages;
    if pages == 0 || !interrupts(&first) {
        return Err(first);
    }
    if first.retry_after.is_some() {
        return Err(partial(pages, first));
    }
    record.warn(of(
        list,
        format!("page {} failed ({}); the list was read again from page 1", pages + 1, first.message),
    ));
    record.before = Some(std::mem::take(&mut record.list));
    let again = read_pages(peer, list).await;
    let record = peer.record();
    let before = record.before.take();
    let Err(second) = again else { return Ok(()) };
    if !interrupts(&second) {
        return Err(second);
    }
    if let Some(before) = before {
        // The server is gone; what the first reading brought is the better evidence.
        record.list = before;
    }
    Err(partial(record.list.pages, second))
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

async fn read_pages(peer: &mut impl Peer, list: &List) -> Try<()> {
    let record = peer.record();
    record.list = Partial::default();
    record.heard.remove(&list.changed);
    let mut seen: HashSet<Box<str>> = HashSet::new();
    let mut cursor: Option<Box<RawValue>> = None;
    loop {
        let reply = peer.page(list.method, cursor.as_deref()).await?;
        let limits = peer.limits().clone();
        cursor = take_page(peer.record(), &limits, list, reply)?;
        let Some(next) = &cursor else { break };
        let record = peer.record();
        let endless = |outcome, cause: String| {
            Err(Failure::new(outcome, format!("{} lists its {} without end: {cause}", record.name(), list.noun)).help(
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
            let page = record.list.pages;
            return endless(Outcome::Malformed, format!("page {page} has a cursor that was used before"));
        }
        if record.list.pages >= limits.pages {
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
    #[serde(borrow, default, deserialize_with = "present")]
    prompts: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    resources: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    resource_templates: Option<&'a RawValue>,
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

impl<'a> Page<'a> {
    fn items(&self, list: &List) -> Option<&'a RawValue> {
        match list.kind {
            None => self.tools,
            Some(SurfaceKind::Prompts) => self.prompts,
            Some(SurfaceKind::Resources) => self.resources,
            Some(SurfaceKind::ResourceTemplates) => self.resource_templates,
        }
    }
}

/// Adds a page to the record; gives the cursor of the next. `""` is a cursor, `null` is none.
fn take_page(record: &mut Record, limits: &Limits, list: &List, reply: Reply) -> Try<Option<Box<RawValue>>> {
    let List { method, member, noun, .. } = *list;
    let name = record.name();
    let result = reply.map_err(|error| {
        let help = if message::code(&error) == Some(-32601) {
            format!("the server offers no {noun}, or is no MCP server; see its documentation")
        } else {
            "see the server's own log; the list is not empty, it could not be read".to_owned()
        };
        Failure::new(
            Outcome::Error,
            format!("{name} answered `{method}` with error {}", message::describe(&error)),
        )
        .help(help)
        .rpc_error(error)
    })?;
    let text = result.get();
    let malformed = |cause: &str| {
        Failure::new(Outcome::Malformed, format!("{name} answered `{method}` with something else: {cause}"))
            .help(format!("the result must be {{\"{member}\":[…]}}; report it to the server's author"))
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
    let items = page.items(list).ok_or_else(|| malformed(&format!("it has no `{member}`")))?.get();
    if !items.starts_with('[') {
        return Err(malformed(&format!("`{member}` is {}", kind(items))));
    }
    let first = record.list.items.len();
    let (items, count) =
        snapshot::split_up_to(items, limits.tools - first).map_err(|e| malformed(&e.to_string()))?;

    record.before = None;
    record.list.pages += 1;
    record.list.bytes += text.len();
    record.list.items.extend(items.into_iter().map(|t| RawItem { index: first + t.index, raw: t.raw }));
    if list.kind.is_none() {
        record.progress.at(Step::Listing { pages: record.list.pages, tools: record.list.items.len() });
    }
    let too_large = |what: String| {
        Err(Failure::new(Outcome::TooLarge, format!("{name} lists too much: {what}"))
            .help("if the server is meant to be so large, split it"))
    };
    // All lists of a listing are held at once, and those of a server's other contexts, so they share it.
    let bytes = record.kept + record.list.bytes;
    record.share.note(bytes);
    let all = record.share.others() + bytes;
    if all > limits.total_bytes {
        let contexts = if all > bytes { " under all its contexts" } else { "" };
        return too_large(format!("{all} bytes in all{contexts}, the limit is {}", limits.total_bytes));
    }
    if first + count > limits.tools {
        return too_large(format!("{} {noun}, the limit is {}", first + count, limits.tools));
    }
    if record.list.pages == 1 && list.kind.is_none() {
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
