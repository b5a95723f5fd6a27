//! Writes a document by hand: one form, diff-friendly, read alike by YAML 1.1 and 1.2.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{Document, Server};
use crate::{
    catalog::{
        EnvironmentPolicy, Member, Policy, ReleaseStatus,
        policy::{Against, Direction, Probe},
        server::{HttpTransport, ServerSource, Symbolic},
    },
    diff::{Formats, Level},
    name::EnvironmentName,
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
    if let Some(environments) = &document.environments {
        write_environments(&mut out, environments);
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
    let Policy { assume, formats, fail_on, compatibility, against, approvals, max_tools, deprecation_days } =
        policy;
    out.push_str("policy:\n");
    line(out, 2, "assume", assume.as_str());
    if *formats != Formats::default() {
        line(out, 2, "formats", formats.as_str());
    }
    line(out, 2, "failOn", &levels(fail_on));
    if *compatibility != Direction::default() {
        line(out, 2, "compatibility", compatibility.as_str());
    }
    if *against != Against::default() {
        line(out, 2, "against", against.as_str());
    }
    if *approvals > 0 {
        line(out, 2, "approvals", &approvals.to_string());
    }
    if let Some(most) = max_tools {
        line(out, 2, "maxTools", &most.to_string());
    }
    if let Some(days) = deprecation_days {
        line(out, 2, "deprecationDays", &days.to_string());
    }
}

fn write_environments(out: &mut String, environments: &BTreeMap<EnvironmentName, EnvironmentPolicy>) {
    if environments.is_empty() {
        out.push_str("environments: {}\n");
        return;
    }
    out.push_str("environments:\n");
    for (name, policy) in environments {
        let mut body = String::new();
        write_environment(&mut body, policy);
        let name = text(name.as_str());
        if body.is_empty() {
            line(out, 2, &name, "{}");
        } else {
            let _ = writeln!(out, "  {name}:");
            out.push_str(&body);
        }
    }
}

fn write_environment(out: &mut String, policy: &EnvironmentPolicy) {
    let EnvironmentPolicy {
        after,
        assume,
        formats,
        fail_on,
        rollback_fail_on,
        compatibility,
        against,
        approvals,
        max_tools,
        deprecation_days,
        probe,
        servers,
    } = policy;
    let words = [
        ("after", after.as_ref().map(|name| text(name.as_str()))),
        ("assume", assume.map(|a| a.as_str().to_owned())),
        ("formats", formats.map(|f| f.as_str().to_owned())),
        ("failOn", fail_on.as_deref().map(levels)),
        ("rollbackFailOn", (!rollback_fail_on.is_empty()).then(|| levels(rollback_fail_on))),
        ("compatibility", compatibility.map(|d| d.as_str().to_owned())),
        ("against", against.map(|a| a.as_str().to_owned())),
        ("approvals", approvals.map(|n| n.to_string())),
        ("maxTools", max_tools.map(|n| n.to_string())),
        ("deprecationDays", deprecation_days.map(|n| n.to_string())),
        ("probe", (*probe != Probe::default()).then(|| probe.as_str().to_owned())),
    ];
    for (key, value) in words {
        if let Some(value) = value {
            line(out, 4, key, &value);
        }
    }
    if !servers.is_empty() {
        out.push_str("    servers:\n");
    }
    for (server, serving) in servers {
        line(out, 6, &text(server.as_str()), &text(serving.as_str()));
    }
}

fn levels(levels: &[Level]) -> String {
    let words: Vec<&str> = levels.iter().map(|l| l.as_str()).collect();
    format!("[{}]", words.join(", "))
}

fn write_server(out: &mut String, server: &Server) {
    let Server { name, source, selection, snapshot, version, protocol } = server;
    let mut body = String::new();
    if let Some(source) = source {
        write_source(&mut body, source);
    }
    if let Some(selection) = selection {
        let patterns: Vec<String> = selection.patterns().iter().map(|p| text(p)).collect();
        line(&mut body, 4, "tools", &format!("[{}]", patterns.join(", ")));
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
