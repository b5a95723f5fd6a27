//! Writes a document by hand: one form, diff-friendly, read alike by YAML 1.1 and 1.2.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{Document, Server};
use crate::{
    catalog::{
        Member, Policy, ReleaseStatus,
        server::{HttpTransport, ServerSource, Symbolic},
    },
    diff::Formats,
};

pub(super) fn document(document: &Document) -> String {
    let mut out = String::new();
    if let Some(name) = &document.catalog {
        line(&mut out, 0, "catalog", &text(name.as_str()));
    }
    if let Some(version) = document.version {
        line(&mut out, 0, "catalogVersion", &version.to_string());
    }
    if let Some(policy) = &document.policy {
        write_policy(&mut out, policy);
    }
    if !document.servers.is_empty() {
        out.push_str("servers:\n");
        for server in &document.servers {
            write_server(&mut out, server);
        }
    }
    match document.tools.as_deref() {
        None => {}
        Some([]) => out.push_str("tools: []\n"),
        Some(tools) => {
            out.push_str("tools:\n");
            for tool in tools {
                write_tool(&mut out, tool, &document.digest_policy);
            }
        }
    }
    out
}

fn write_policy(out: &mut String, policy: &Policy) {
    out.push_str("policy:\n");
    line(out, 2, "assume", policy.assume.as_str());
    if policy.formats != Formats::default() {
        line(out, 2, "formats", policy.formats.as_str());
    }
    let levels: Vec<&str> = policy.fail_on.iter().map(|l| l.as_str()).collect();
    line(out, 2, "failOn", &format!("[{}]", levels.join(", ")));
}

fn write_server(out: &mut String, server: &Server) {
    let Server { name, source, snapshot, version, protocol } = server;
    let mut body = String::new();
    if let Some(source) = source {
        write_source(&mut body, source);
    }
    if let Some(snapshot) = snapshot {
        line(&mut body, 4, "snapshot", snapshot.as_str());
    }
    if let Some(version) = version {
        line(&mut body, 4, "version", &text(version));
    }
    if let Some(protocol) = protocol {
        line(&mut body, 4, "protocol", &text(protocol));
    }
    let name = text(name.as_str());
    if body.is_empty() {
        line(out, 2, &name, "{}");
    } else {
        let _ = writeln!(out, "  {name}:");
        out.push_str(&body);
    }
}

fn write_source(out: &mut String, source: &ServerSource) {
    let named = |out: &mut String, key, entries: &BTreeMap<String, Symbolic>| {
        if !entries.is_empty() {
            let _ = writeln!(out, "    {key}:");
        }
        for (name, value) in entries {
            line(out, 6, &text(name), &text(value.as_str()));
        }
    };
    match source {
        ServerSource::Stdio { program, args, env, cwd } => {
            let words: Vec<String> = std::iter::once(program).chain(args).map(|w| text(w.as_str())).collect();
            line(out, 4, "command", &format!("[{}]", words.join(", ")));
            named(out, "env", env);
            if let Some(cwd) = cwd {
                line(out, 4, "cwd", &text(cwd.as_str()));
            }
        }
        ServerSource::Http { url, headers, transport, oauth } => {
            line(out, 4, "url", &text(url.as_str()));
            named(out, "headers", headers);
            if *transport != HttpTransport::Auto {
                line(out, 4, "transport", transport.as_str());
            }
            if let Some(client) = oauth {
                out.push_str("    oauth:\n");
                for (name, value) in client.texts() {
                    line(out, 6, name, &text(value.as_str()));
                }
            }
        }
    }
}

fn write_tool(out: &mut String, tool: &Member, digest_policy: &str) {
    let Member { server, tool, contract_version, compatibility, status, digests } = tool;
    let _ = writeln!(out, "  - name: {}", text(tool));
    if let Some(server) = server {
        line(out, 4, "server", &text(server.as_str()));
    }
    let version =
        contract_version.as_integer().map_or_else(|| contract_version.to_string(), |n| n.to_string());
    line(out, 4, "contractVersion", &version);
    line(out, 4, "compatibility", compatibility.as_str());
    // The bare form does not speak of the status of what is in use.
    if digests.is_some() || *status != ReleaseStatus::Active {
        line(out, 4, "status", status.as_str());
    }
    if let Some(digests) = digests {
        out.push_str("    digests:\n");
        line(out, 6, "policy", digest_policy);
        line(out, 6, "raw", digests.raw.as_str());
        line(out, 6, "contract", digests.contract.as_str());
        line(out, 6, "presentation", digests.presentation.as_str());
    }
}

fn line(out: &mut String, indent: usize, key: &str, value: &str) {
    let _ = writeln!(out, "{:indent$}{key}: {value}", "");
}

/// A text as a YAML scalar: plain where every reader takes it for a text, in double quotes otherwise.
fn text(text: &str) -> String {
    // An option such as `--release` is a text; a dash followed by a blank or a digit is not.
    let plain = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'));
    let taken = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    if plain && !taken.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            // YAML reads three widths of escapes; letters beyond ASCII that print stay as they are.
            c if c.is_alphanumeric() => quoted.push(c),
            c if u32::from(c) <= 0xffff => _ = write!(quoted, "\\u{:04x}", u32::from(c)),
            c => _ = write!(quoted, "\\U{:08x}", u32::from(c)),
        }
    }
    quoted.push('"');
    quoted
}
