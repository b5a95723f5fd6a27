//! A lockfile as text.

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use serde_json::value::RawValue;

use super::{FORMAT, Lock, LockedServer, LockedTool};
use crate::{contract, json, snapshot::RawTool};

const HEAD: &str = "\
# What callers rely on, as `toolpact gate` holds it against the servers. Written by `toolpact lock`: commit it, and
# accept changes with `toolpact lock --update`, not by hand.
";

pub(super) fn lock(lock: &Lock) -> String {
    let mut out = format!("{HEAD}format {FORMAT}\ndigests {}\n", contract::POLICY);
    for one in &lock.servers {
        server(&mut out, one);
    }
    out
}

fn server(out: &mut String, server: &LockedServer) {
    _ = writeln!(out, "\nserver {}", text(server.name.as_str()));
    if let Some(source) = &server.source {
        // Members of our own, in their own order, on one line.
        _ = writeln!(out, "source {}", serde_json::to_string(source).unwrap_or_default());
    }
    if let Some(version) = &server.version {
        _ = writeln!(out, "version {}", text(version));
    }
    for one in &server.tools {
        tool(out, one);
    }
}

fn tool(out: &mut String, tool: &LockedTool) {
    let contract::Digests { raw, contract, presentation } = &tool.digests;
    _ = writeln!(out, "\ntool {}", text(&tool.contract.name));
    _ = writeln!(out, "raw {raw}\ncontract {contract}\npresentation {presentation}");
    for (place, day) in &tool.announced {
        _ = writeln!(out, "deprecated {day} {}", text(place));
    }
    _ = writeln!(out, "{}", tool.contract.raw_text());
}

/// The tool in the form in which it is locked: one line a value, members by name, texts without characters that do not
/// show. Numbers stay as the server wrote them.
pub(super) fn canonical(tool: &RawTool) -> Arc<RawValue> {
    let mut out = String::with_capacity(tool.raw.get().len() * 2);
    value(&mut out, &tool.raw, 0);
    // What was JSON is JSON; were it not, the text as it came is the better answer.
    RawValue::from_string(out).map_or_else(|_| Arc::clone(&tool.raw), Arc::from)
}

/// Nesting is bounded where tools are read; what nests deeper is written on one line.
fn value(out: &mut String, raw: &RawValue, depth: usize) {
    let source = raw.get();
    let (open, close) = match source.as_bytes().first() {
        _ if depth > json::MAX_DEPTH => return out.push_str(source),
        Some(b'{') => ('{', '}'),
        Some(b'[') => ('[', ']'),
        Some(b'"') => {
            return out
                .push_str(&serde_json::from_str(source).map_or(source.to_owned(), |s: String| text(&s)));
        }
        _ => return out.push_str(source),
    };
    let members: Vec<(Option<String>, &RawValue)> = match open {
        '{' => match serde_json::from_str::<BTreeMap<String, &RawValue>>(source) {
            Ok(members) => members.into_iter().map(|(name, member)| (Some(name), member)).collect(),
            Err(_) => return out.push_str(source),
        },
        _ => match serde_json::from_str::<Vec<&RawValue>>(source) {
            Ok(items) => items.into_iter().map(|item| (None, item)).collect(),
            Err(_) => return out.push_str(source),
        },
    };
    out.push(open);
    for (i, (name, member)) in members.iter().enumerate() {
        out.push_str(if i == 0 { "\n" } else { ",\n" });
        indent(out, depth + 1);
        if let Some(name) = name {
            out.push_str(&text(name));
            out.push_str(": ");
        }
        value(out, member, depth + 1);
    }
    if !members.is_empty() {
        out.push('\n');
        indent(out, depth);
    }
    out.push(close);
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// A JSON text in which nothing hides: whoever reviews the file sees every character or its code.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for c in serde_json::Value::from(text).to_string().chars() {
        if json::is_hidden(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(out, "\\u{unit:04x}"));
        } else {
            out.push(c);
        }
    }
    out
}
