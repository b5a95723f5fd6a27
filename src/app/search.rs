//! Search: servers, tools and parameters by a part of their name, in what servers listed last.

use std::sync::Arc;

use serde_json::{Value, value::RawValue};

use super::{App, AppError, Kind, check::computed, lists::Slice};
use crate::name::ServerName;

/// The longest text that is looked for, in bytes.
const LONGEST: usize = 100;
/// What is found of each kind, at most.
const FOUND: usize = 50;
/// The most tools that are looked at: what one search may cost.
const TOOLS: usize = 20_000;
/// Servers that are read at a time.
const SERVERS: usize = 200;
/// Depth to which parameters are looked for.
const DEPTH: usize = 6;

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Servers.
    pub servers: Vec<ServerName>,
    /// Tools, by server.
    pub tools: Vec<(ServerName, String)>,
    /// Parameters, by server and tool; in dots, `[]` for items.
    pub parameters: Vec<(ServerName, String, String)>,
    /// More may be there: not everything was looked at, or not all of it is named.
    pub more: bool,
}

impl Found {
    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.tools.is_empty() && self.parameters.is_empty()
    }
}

impl App {
    /// Looks for a text in names, whatever its case: of servers, and of the tools and input parameters of each server's
    /// newest good snapshot.
    ///
    /// # Errors
    /// Where the text is empty or too long.
    pub async fn search(&self, text: &str) -> Result<Found, AppError> {
        let wanted = text.trim().to_lowercase();
        if wanted.is_empty() || wanted.len() > LONGEST {
            let message = format!("a search is for 1 to {LONGEST} bytes, not {}", wanted.len());
            return Err(AppError::new(Kind::Invalid, "bad-search", message)
                .help("give a part of the name of a server, a tool or a parameter"));
        }
        let (mut found, mut after, mut left) = (Found::default(), None, TOOLS);
        loop {
            let slice = Slice { after: after.clone(), limit: SERVERS };
            let rows = self.store.server_rows(slice.after.as_ref(), None, slice.limit).await?;
            let Some(last) = rows.last().map(|row| row.name.clone()) else { return Ok(found) };
            for row in rows {
                if row.name.as_str().to_lowercase().contains(&wanted) {
                    push(&mut found.servers, row.name.clone(), &mut found.more);
                }
                let Some(digest) = row.last_ok.and_then(|listing| listing.digest) else { continue };
                if left == 0 {
                    found.more = true;
                    continue;
                }
                let Some(snapshot) = self.store.snapshot(&row.name, &digest).await? else { continue };
                found.more |= snapshot.tools.len() > left;
                let texts: Vec<Arc<RawValue>> =
                    snapshot.tools.iter().take(left).map(|tool| Arc::clone(&tool.raw)).collect();
                left -= texts.len();
                let wanted = wanted.clone();
                for (tool, named, parameters) in computed(move || looked_through(&texts, &wanted)).await? {
                    for parameter in parameters {
                        let hit = (row.name.clone(), tool.clone(), parameter);
                        push(&mut found.parameters, hit, &mut found.more);
                    }
                    if named {
                        push(&mut found.tools, (row.name.clone(), tool), &mut found.more);
                    }
                }
            }
            after = Some(last);
        }
    }
}

fn push<T>(list: &mut Vec<T>, item: T, more: &mut bool) {
    if list.len() < FOUND {
        list.push(item);
    } else {
        *more = true;
    }
}

/// The tools of a list in which the text stands: whether in their name, and in which parameters.
fn looked_through(texts: &[Arc<RawValue>], wanted: &str) -> Vec<(String, bool, Vec<String>)> {
    let mut hits = Vec::new();
    for text in texts {
        // A name that is not plain ASCII may be written with escapes, so that only a reader of JSON finds it.
        let plain = wanted.is_ascii() && !text.get().contains('\\');
        if plain && !text.get().to_lowercase().contains(wanted) {
            continue;
        }
        let Ok(tool) = serde_json::from_str::<Value>(text.get()) else { continue };
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut parameters = Vec::new();
        collect(tool.get("inputSchema").unwrap_or(&Value::Null), "", wanted, 0, &mut parameters);
        let named = name.to_lowercase().contains(wanted);
        if named || !parameters.is_empty() {
            hits.push((name.to_owned(), named, parameters));
        }
    }
    hits
}

fn collect(schema: &Value, path: &str, wanted: &str, depth: usize, found: &mut Vec<String>) {
    if depth == DEPTH || found.len() >= FOUND {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if name.to_lowercase().contains(wanted) && found.len() < FOUND {
            found.push(here.clone());
        }
        collect(property, &here, wanted, depth + 1, found);
    }
    if let Some(items) = schema.get("items")
        && !path.is_empty()
    {
        collect(items, &format!("{path}[]"), wanted, depth + 1, found);
    }
}
