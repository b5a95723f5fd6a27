//! Saved lists of real servers, and the tools that changed from one release to the next.
//!
//! Reads `<folder>/servers/<server>/<version>.json` from the folder that `TOOLPACT_CORPUS` names, or from
//! `../shared/corpus`.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use toolpact::{
    contract::Contract,
    snapshot::{self, RawTool},
};

/// A tool before and after.
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) before: RawTool,
    pub(crate) after: RawTool,
}

impl Pair {
    /// Both `inputSchema`s; nothing where they are the same.
    pub(crate) fn input_schemas(&self) -> Option<(Value, Value)> {
        let schema = |raw: &RawTool| -> Value {
            let mut tool: Value = serde_json::from_str(raw.raw.get()).expect("JSON");
            tool["inputSchema"].take()
        };
        let (before, after) = (schema(&self.before), schema(&self.after));
        (before != after).then_some((before, after))
    }
}

/// Every tool whose text differs from one release to the next; says so where there is none.
pub(crate) fn pairs() -> Vec<Pair> {
    let corpus = env::var_os("TOOLPACT_CORPUS").map_or_else(beside, PathBuf::from);
    let mut out = Vec::new();
    let mut servers = listed(&corpus.join("servers"));
    servers.sort();
    for server in servers {
        let mut releases = listed(&server);
        releases.sort_by_cached_key(|path| release_order(path));
        let lists: Vec<_> = releases.iter().map(|path| tools(path)).collect();
        for (old, new) in lists.iter().zip(lists.iter().skip(1)) {
            let new: HashMap<&str, &RawTool> = new.iter().map(|(name, raw)| (name.as_str(), raw)).collect();
            for (name, before) in old {
                if let Some(after) = new.get(name.as_str())
                    && after.raw.get() != before.raw.get()
                {
                    let server = server.file_name().unwrap_or_default().to_string_lossy();
                    let name = format!("{server} {name}");
                    out.push(Pair { name, before: before.clone(), after: (*after).clone() });
                }
            }
        }
    }
    if out.is_empty() {
        println!("LEFT OUT: no saved lists in `{}`", corpus.display());
    }
    out
}

/// The folder beside the checkout, wherever in the checkout the bench is.
fn beside() -> PathBuf {
    let named = "shared/corpus";
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join(named));
    above.into_iter().find(|folder| folder.is_dir()).unwrap_or_else(|| Path::new("..").join(named))
}

/// Orders `2.10.0` after `2.9.0`.
fn release_order(path: &Path) -> Vec<(u64, String)> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.split(['.', '-']).map(|part| (part.parse().unwrap_or(0), part.to_owned())).collect()
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn tools(path: &Path) -> Vec<(String, RawTool)> {
    let text = fs::read_to_string(path).expect("a saved list");
    let saved = snapshot::read_saved(&text).expect("a tools list");
    saved.tools.into_iter().filter_map(|raw| Some((Contract::of(&raw).ok()?.name, raw))).collect()
}
