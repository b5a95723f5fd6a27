//! Which module may name which: the table of ARCHITECTURE.md, held against the source.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Left to right; a module names only modules in an earlier entry, never a sibling in its own.
const LAYERS: &[&[&str]] = &[
    &["name"],
    &["secret"],
    &["json"],
    &["access"],
    &["snapshot"],
    &["contract"],
    &["schema"],
    &["diff"],
    &["lint"],
    &["catalog"],
    &["gate"],
    &["reach"],
    &["store", "mcp", "config", "deliver", "oidc", "remote"],
    &["app"],
    &["guard"],
    &["http", "web", "cli"],
    &["main"],
];

/// Up to here modules are pure: no I/O, no clock, no randomness.
const LAST_PURE: &str = "gate";

/// Crates that only some files may name: everything else can then be read without knowing them, and swapped.
const OWNED: &[(&str, &[&str])] = &[
    ("sqlx", &["store"]),
    ("axum", &["guard", "http", "web", "main"]),
    ("tower", &["guard", "http", "web"]),
    ("tower_http", &["http", "web"]),
    ("hyper", &["http"]),
    ("tokio_io_timeout", &["http"]),
    ("hyper_util", &["http"]),
    ("askama", &["web", "http/docs"]),
    ("governor", &["guard"]),
    ("getrandom", &["app/access"]),
    ("utoipa", &["http"]),
    ("utoipa_axum", &["http"]),
    ("serde_path_to_error", &["http"]),
    ("clap", &["cli"]),
    ("metrics_exporter_prometheus", &["http/metrics"]),
    ("metrics", &["app/counts", "http"]),
    ("ipnet", &["reach", "guard"]),
    ("openidconnect", &["oidc"]),
    ("reqwest", &["reach", "mcp", "config/registry", "deliver", "oidc", "remote"]),
    ("oauth2", &["mcp"]),
    ("http_auth", &["mcp"]),
    ("rustls", &["mcp", "config/registry", "deliver", "oidc", "remote", "cli/traces"]),
    ("hmac", &["catalog/webhook"]),
    ("libc", &["mcp"]),
    ("ed25519_dalek", &["catalog/sign"]),
    ("rustix", &["store", "http/connections"]),
    ("shlex", &["app/servers/pasted", "app/servers/reference"]),
    ("jsonschema", &["schema"]),
    ("jsonc_parser", &["config"]),
    ("indicatif", &["cli"]),
    ("sd_notify", &["cli/serve"]),
    ("opentelemetry", &["cli/traces", "http/layers"]),
    ("opentelemetry_sdk", &["cli/traces"]),
    ("opentelemetry_otlp", &["cli/traces"]),
    ("opentelemetry_http", &["http/layers"]),
    ("tracing_opentelemetry", &["cli/traces", "http/layers"]),
    ("quick_junit", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("toml", &["app/tree/manifest"]),
    ("serde_yaml", &["catalog/document", "diff/case", "config/spring", "cli/config"]),
    ("anyhow", &["cli", "main"]),
];

/// What pure modules never name.
const IMPURE: &[&str] = &[
    "tokio::",
    "async fn",
    "async_trait",
    "tracing::",
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "Instant",
    "SystemTime",
    "Utc::now",
    "Local::now",
    "thread::sleep",
    "println!",
    "eprintln!",
    "rand::",
];

struct Source {
    /// `catalog/document`, from `src/catalog/document.rs`.
    path: String,
    /// Without comments, text in quotes and the tests at the end.
    code: String,
}

impl Source {
    fn module(&self) -> &str {
        self.path.split('/').next().expect("a split has a first part")
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be read") {
            let path: PathBuf = entry.expect("src can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).expect("source is text");
                let name = path.strip_prefix(&root).expect("it is below").with_extension("");
                out.push(Source { path: name.to_string_lossy().replace('\\', "/"), code: code(&text) });
            }
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(out.len() > 10, "the scan found next to nothing");
    out
}

/// The code of a file: no comments, no contents of text literals, no tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |at| at + 5)
        } else if c == '"' {
            end_of_text(rest)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').map_or(1, |at| at + 2)
        } else {
            0
        };
        if skip > 0 {
            out.push(' ');
            rest = &rest[skip..];
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn end_of_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The first names after every `prefix` (`crate::`): one, or those at the top of a group in braces.
fn named_after(code: &str, prefix: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        if code[..at].chars().next_back().is_some_and(|c| is_ident(c) || c == ':') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        if rest.starts_with('{') {
            let (mut depth, mut item) = (0, String::new());
            for c in rest.chars() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if (c == ',' && depth == 1) || depth == 0 {
                    out.push(
                        item.trim_start_matches('{').trim().chars().take_while(|c| is_ident(*c)).collect(),
                    );
                    item.clear();
                } else {
                    item.push(c);
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            out.push(rest.chars().take_while(|c| is_ident(*c)).collect());
        }
    }
    out.retain(|name: &String| !name.is_empty());
    out
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|l| l.contains(&module))
}

#[test]
fn a_module_names_only_modules_to_its_left() {
    let mut wrong = Vec::new();
    for source in sources().iter().filter(|s| s.path != "lib") {
        let module = source.module();
        let own =
            layer(module).unwrap_or_else(|| panic!("`{module}` stands in no layer; add it to the table"));
        let mut named = named_after(&source.code, "crate::");
        named.extend(named_after(&source.code, "toolpact::"));
        // From a top-level file `super` is the crate; from one below, two of them are.
        let up =
            ["super::", "super::super::", "super::super::super::"][source.path.matches('/').count().min(2)];
        named.extend(named_after(&source.code, up));
        for name in named {
            let Some(other) = layer(&name) else { continue };
            if name != module && other >= own {
                wrong.push(format!("src/{}.rs names `{name}`", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "against the order of layers:\n{}", wrong.join("\n"));
}

#[test]
fn a_crate_is_named_only_where_it_belongs() {
    let mut wrong = Vec::new();
    for source in &sources() {
        for (name, owners) in OWNED {
            let owned = owners.iter().any(|o| {
                source.path == *o || source.path.strip_prefix(o).is_some_and(|rest| rest.starts_with('/'))
            });
            let names = source.code.match_indices(name).any(|(at, _)| {
                let before = source.code[..at].chars().next_back();
                let after = &source.code[at + name.len()..];
                !before.is_some_and(|c| is_ident(c) || c == ':' || c == '.')
                    && (after.starts_with("::")
                        || (after.starts_with(';') && source.code[..at].ends_with("use ")))
            });
            if names && !owned {
                wrong.push(format!(
                    "src/{}.rs names `{name}`, which belongs to {}",
                    source.path,
                    owners.join(", ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_does_no_io_and_knows_no_clock() {
    let last = layer(LAST_PURE).expect("it stands in the table");
    let mut wrong = Vec::new();
    for source in &sources() {
        if layer(source.module()).is_none_or(|l| l > last) {
            continue;
        }
        for word in IMPURE {
            if source
                .code
                .match_indices(word)
                .any(|(at, _)| !source.code[..at].chars().next_back().is_some_and(is_ident))
            {
                wrong.push(format!("src/{}.rs names `{word}`", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "the core is pure; hand it values instead:\n{}", wrong.join("\n"));
}

#[test]
fn pure_modules_deny_what_clippy_toml_forbids() {
    let last = layer(LAST_PURE).expect("it stands in the table");
    for module in LAYERS[..=last].iter().flat_map(|l| *l) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(format!("{module}.rs"));
        let text = fs::read_to_string(&path).expect("the module is a file");
        assert!(
            text.contains("#![deny(clippy::disallowed_methods, clippy::disallowed_types)]"),
            "src/{module}.rs does not deny the methods and types of clippy.toml"
        );
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let silent: Vec<String> = sources()
        .iter()
        .map(|s| format!("{}.rs", s.path))
        .filter(|p| !fs::read_to_string(root.join(p)).expect("it was read before").starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "these open without `//!`: {}", silent.join(", "));
}

#[test]
fn every_template_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = BTreeMap::new();
    let mut folders = vec![root.join("templates"), root.join("src/web"), root.join("src/http")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.map(|e| e.expect("it can be read").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                texts.insert(path, text);
            }
        }
    }
    let unused: Vec<String> = texts
        .keys()
        .filter_map(|path| path.strip_prefix(root.join("templates")).ok())
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| !texts.values().any(|text| text.contains(name.as_str())))
        .collect();
    assert!(unused.is_empty(), "no page uses: {}", unused.join(", "));
}

/// The tables and columns that a folder of migrations makes, file by file.
fn columns(database: &str) -> BTreeMap<String, Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let entry = entry.expect("it can be read");
        let mut made = Vec::new();
        let mut table = None;
        for line in fs::read_to_string(entry.path()).expect("a text").lines() {
            let mut words = line.split_whitespace();
            if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
                table = rest.split_whitespace().next();
                made.push(rest.to_owned());
            } else if let Some(rest) = line.strip_prefix("ALTER TABLE ") {
                let words: Vec<&str> = rest.split_whitespace().collect();
                made.push(words[..words.len().min(4)].join(" "));
            } else if line.starts_with(')') {
                table = None;
            } else if let (Some(table), Some(word)) = (table, words.next())
                && word.starts_with(|c: char| c.is_ascii_lowercase())
            {
                made.push(format!("{table}.{word}"));
            }
        }
        made.sort();
        out.insert(entry.file_name().to_string_lossy().into_owned(), made);
    }
    out
}

#[test]
fn both_databases_have_the_same_tables_and_columns() {
    let (sqlite, postgres) = (columns("sqlite"), columns("postgres"));
    assert!(sqlite["0001_catalog.sql"].contains(&"moves.generation".to_owned()), "the scan found nothing");
    assert_eq!(sqlite, postgres);
}

#[test]
fn the_scan_sees_what_it_looks_for() {
    let code = code(
        "use crate::{\n  app::{self, x},\n  diff,\n}; // crate::web\nlet s = \"crate::http\"; crate::store::y();",
    );
    assert_eq!(named_after(&code, "crate::"), ["app", "diff", "store"]);
}
