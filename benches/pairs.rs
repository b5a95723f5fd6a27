//! Pairs of real tools that changed from one release to the next: what the answer costs, without a process around it.
//!
//! Reads saved lists, `<folder>/servers/<server>/<version>.json`, from the folder that `TOOLPACT_CORPUS` names, or from
//! `../shared/corpus`; says so where there is none.

use std::{
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
    slice::from_ref,
    time::{Duration, Instant},
};

use serde_json::{Value, value::RawValue};
use toolpact::{
    contract::Contract,
    diff::{Assumption, Side, diff},
    schema::{self, Schema},
    snapshot::{self, RawTool},
};

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of each pair; the quickest counts, for a pair is too short to be told from what else the machine does.
const ROUNDS: usize = 5;

/// Changed tools in the long list.
const MANY: usize = 2_200;

/// A tool before and after.
struct Pair {
    name: String,
    before: RawTool,
    after: RawTool,
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

/// Every tool whose text differs from one release to the next.
fn pairs(corpus: &Path) -> Vec<Pair> {
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
    out
}

fn side(tools: &[RawTool]) -> Side {
    let contracts = tools.iter().map(|raw| Contract::of(raw).expect("a tool")).collect();
    Side { label: String::new(), servers: vec![(None, contracts)] }
}

/// The quickest of several rounds.
fn quickest(mut once: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| once()).min().unwrap_or_default()
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    drop(result);
    time
}

fn row(what: &str, mut times: Vec<(Duration, &str)>) {
    times.sort();
    let micros = |i: usize| times[i].0.as_secs_f64() * 1e6;
    let n = times.len();
    let (worst, name) = (micros(n - 1), times[n - 1].1);
    println!(
        "{n} {what}: median {:.0} µs, p90 {:.0} µs, p99 {:.0} µs, worst {worst:.0} µs ({name})",
        micros(n / 2),
        micros(n * 9 / 10),
        micros(n * 99 / 100)
    );
}

fn main() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus");
    let corpus = PathBuf::from(env::var_os("TOOLPACT_CORPUS").unwrap_or_else(|| default.into()));
    let pairs = pairs(&corpus);
    if pairs.is_empty() {
        println!("LEFT OUT: no saved lists in `{}`", corpus.display());
        return;
    }
    // What is done once a process is no part of a pair.
    let _ = diff(&side(from_ref(&pairs[0].before)), &side(from_ref(&pairs[0].after)), Assumption::Declared);
    let mut tools = Vec::new();
    let mut questions = Vec::new();
    for pair in &pairs {
        let name = pair.name.as_str();
        let time = quickest(|| {
            let (b, c) = (side(from_ref(&pair.before)), side(from_ref(&pair.after)));
            timed(|| diff(&b, &c, Assumption::Declared))
        });
        tools.push((time, name));
        let read = |raw: &RawTool| -> Value { serde_json::from_str(raw.raw.get()).expect("JSON") };
        let (b, c) = (read(&pair.before), read(&pair.after));
        let (b, c) = (&b["inputSchema"], &c["inputSchema"]);
        if b != c {
            let time = quickest(|| {
                timed(|| Some(schema::contained(&Schema::new(b).ok()?, &Schema::new(c).ok()?, &[])))
            });
            questions.push((time, name));
        }
    }
    row("changed tools, judged", tools);
    row("changed input schemas, one question", questions);
    let renamed = |tool: &RawTool, i: usize| {
        let mut value: Value = serde_json::from_str(tool.raw.get()).expect("JSON");
        value["name"] = format!("tool_{i}").into();
        RawTool { index: i, raw: RawValue::from_string(value.to_string()).expect("JSON") }
    };
    let many = |of: &dyn Fn(&Pair) -> &RawTool| -> Vec<RawTool> {
        pairs.iter().cycle().take(MANY).enumerate().map(|(i, pair)| renamed(of(pair), i)).collect()
    };
    let (before, after) = (many(&|p| &p.before), many(&|p| &p.after));
    let time = quickest(|| {
        let (b, c) = (side(&before), side(&after));
        timed(|| diff(&b, &c, Assumption::Declared))
    });
    println!("{MANY} changed tools in one list: {:.0} ms", time.as_secs_f64() * 1e3);
}
