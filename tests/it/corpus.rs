//! Real tool lists and labelled pairs, read from `../shared/corpus` where it is present.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::{Value, json};
use toolpact::{
    diff::{Assumption, Finding, Level, Side, diff},
    gate::{Grounds, Lock, LockedServer, judge, lock},
};

use crate::rules::side;

fn corpus() -> Option<PathBuf> {
    let dir = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus"));
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("LEFT OUT: no corpus at ../shared/corpus");
    None
}

fn read(path: &std::path::Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file of the corpus")).expect("JSON")
}

fn verdict(before: &Value, after: &Value, assumption: Assumption) -> Level {
    diff(&side("before", before), &side("after", after), assumption).verdict
}

#[derive(Default, Debug)]
struct Score {
    right: usize,
    undecided: Vec<String>,
    missed: Vec<String>,
    alarms: Vec<String>,
}

impl Score {
    fn add(&mut self, name: String, said: Level, breaks: bool) {
        match (said, breaks) {
            (Level::Breaking, true) | (Level::Compatible | Level::Risky, false) => self.right += 1,
            (Level::Undecided, _) => self.undecided.push(name),
            (Level::Compatible | Level::Risky, true) => self.missed.push(name),
            (Level::Breaking, false) => self.alarms.push(name),
        }
    }

    fn print(&self, part: &str) {
        eprintln!(
            "{part}: right {} undecided {} missed {} false alarms {}",
            self.right,
            self.undecided.len(),
            self.missed.len(),
            self.alarms.len()
        );
        for (what, list) in
            [("missed", &self.missed), ("alarm", &self.alarms), ("undecided", &self.undecided)]
        {
            list.iter().take(if what == "alarm" { 20 } else { 40 }).for_each(|n| eprintln!("  {what} {n}"));
        }
    }
}

#[test]
fn no_hand_made_break_is_called_compatible() {
    let Some(dir) = corpus() else { return };
    for assumption in [Assumption::Strict, Assumption::Declared] {
        let mut score = Score::default();
        let mut files: Vec<_> =
            fs::read_dir(dir.join("suite")).expect("the suite").map(|f| f.expect("a file").path()).collect();
        files.sort();
        for file in files {
            let case = read(&file);
            let label = match assumption {
                // A case without a label of its own may break callers that send undeclared properties only.
                Assumption::Declared => match case.get("pragmatic") {
                    Some(label) => label,
                    None if case["expected"] == "compatible" => &case["expected"],
                    None => continue,
                },
                Assumption::Strict => &case["expected"],
            };
            let said = verdict(&case["before"]["tools"], &case["after"]["tools"], assumption);
            // Whether a server checks `format` no schema says: risky by design, never silently compatible.
            let breaks = label == "breaking" && !(case["category"] == "format" && said == Level::Risky);
            score.add(case["name"].as_str().unwrap_or_default().to_owned(), said, breaks);
        }
        score.print(&format!("suite, {assumption}"));
        assert!(score.missed.is_empty(), "{:?}", score.missed);
    }
}

#[test]
fn no_real_break_with_a_known_witness_is_called_compatible() {
    let Some(dir) = corpus() else { return };
    let mut lists: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    let mut tool = |server: &str, version: &str, name: &str| -> Option<Value> {
        let path = dir.join("servers").join(server).join(format!("{version}.json"));
        let list = lists.entry(format!("{server}/{version}")).or_insert_with(|| {
            let mut tools = BTreeMap::new();
            if path.exists() {
                for tool in read(&path)["tools"].as_array().into_iter().flatten() {
                    tools.insert(tool["name"].as_str().unwrap_or_default().to_owned(), tool.clone());
                }
            }
            tools
        });
        list.get(name).cloned()
    };
    let truth = fs::read_to_string(dir.join("truth.jsonl")).expect("the labels");
    let mut scores =
        [("declared", Assumption::Declared, "pragmatic"), ("strict", Assumption::Strict, "strict")]
            .map(|(n, a, k)| (n, a, k, Score::default()));
    let mut slowest: Vec<(u128, String)> = Vec::new();
    for line in truth.lines() {
        let row: Value = serde_json::from_str(line).expect("a label");
        let text = |k: &str| row[k].as_str().unwrap_or_default().to_owned();
        let (Some(before), Some(after)) = (
            tool(&text("server"), &text("from"), &text("tool")),
            tool(&text("server"), &text("to"), &text("tool")),
        ) else {
            continue;
        };
        let key = if text("side") == "input" { "inputSchema" } else { "outputSchema" };
        let mut changed = before.clone();
        let map = changed.as_object_mut().expect("a tool");
        map.shift_remove(key);
        if let Some(schema) = after.get(key) {
            map.insert(key.to_owned(), schema.clone());
        }
        for (_, assumption, label, score) in &mut scores {
            let label = row[*label]["verdict"].as_str().unwrap_or_default();
            if label != "breaking" && !label.starts_with("no-witness") {
                continue;
            }
            let name = format!(
                "{} {}..{} {} {}",
                text("server"),
                text("from"),
                text("to"),
                text("tool"),
                text("side")
            );
            let start = std::time::Instant::now();
            let said = verdict(&json!([before]), &json!([changed]), *assumption);
            slowest.push((start.elapsed().as_micros(), name.clone()));
            score.add(name, said, label == "breaking");
        }
    }
    slowest.sort();
    slowest.reverse();
    let n = slowest.len().max(1);
    eprintln!("median {} us, p99 {} us, worst {:?}", slowest[n / 2].0, slowest[n / 100].0, &slowest[..5]);
    for (name, .., score) in &scores {
        score.print(&format!("servers, {name}"));
    }
    for (.., score) in &scores {
        assert!(score.missed.is_empty(), "{:?}", score.missed);
    }
}

/// How the releases of one server fare as pull requests.
#[derive(Default)]
struct Replayed {
    releases: usize,
    blocked: usize,
    silent: usize,
}

#[test]
fn releases_replayed_as_pull_requests_block_with_a_witness_or_are_silent() {
    let Some(dir) = corpus() else { return };
    // What people say of each change: the releases in order, and which of them break somebody.
    let truth = fs::read_to_string(dir.join("truth.jsonl")).expect("the labels");
    let mut releases: BTreeMap<(String, String, String), bool> = BTreeMap::new();
    for line in truth.lines() {
        let row: Value = serde_json::from_str(line).expect("a label");
        let text = |k: &str| row[k].as_str().unwrap_or_default().to_owned();
        let breaks = row["pragmatic"]["verdict"] == "breaking";
        *releases.entry((text("server"), text("from"), text("to"))).or_default() |= breaks;
    }
    let today = "2026-11-30".parse().expect("a day");
    let mut servers: BTreeMap<String, Replayed> = BTreeMap::new();
    let mut wrong = Vec::new();
    for ((server, from, to), breaks) in &releases {
        let saved = |version: &str| {
            let text =
                fs::read_to_string(dir.join("servers").join(server).join(format!("{version}.json"))).ok()?;
            toolpact::snapshot::read_saved(&text).ok().map(|list| list.tools)
        };
        let (Some(before), Some(after)) = (saved(from), saved(to)) else { continue };
        let name: toolpact::name::ServerName = server.parse().expect("a name");
        // Through the text of a lockfile, as in a repository.
        let Ok(locked) = LockedServer::of(name.clone(), &before, None, today) else { continue };
        let written = Lock { servers: vec![locked] }.write();
        let locked = lock::read(&written).unwrap_or_else(|e| panic!("{server} {from}: {e}"));
        let contracts: Result<Vec<_>, _> = after.iter().map(toolpact::contract::Contract::of).collect();
        let Ok(contracts) = contracts else { continue };
        let candidate = Side { label: to.clone(), servers: vec![(Some(name), contracts)] };
        let report = diff(&locked.side("toolpact.lock"), &candidate, Assumption::Declared);
        let judgement = judge(report, Grounds::default(), today);
        let count = servers.entry(server.clone()).or_default();
        count.releases += 1;
        count.blocked += usize::from(judgement.blocked.is_some());
        let all = || judgement.findings();
        if all().all(|(_, f, _)| f.rule == "notation-changed") {
            count.silent += 1;
            if judgement.blocked.is_some() {
                wrong.push(format!("{server} {from}..{to}: only notation changed, and it blocks"));
            }
        }
        // Of a result that is no longer promised any is possible, and it says so in place of one.
        let proved = |f: &Finding| f.witness.is_some() || f.rule == "output-schema-removed";
        let shown = all().any(|(_, f, standing)| standing.blocks() && proved(f));
        if *breaks && !shown {
            wrong.push(format!("{server} {from}..{to}: a known break, and no witness"));
        }
    }
    let (mut total, mut blocked) = (0, 0);
    for (server, Replayed { releases, blocked: of_server, silent }) in &servers {
        eprintln!("{server}: {of_server} of {releases} releases block, {silent} are silent");
        (total, blocked) = (total + releases, blocked + of_server);
    }
    eprintln!("all: {blocked} of {total} releases block");
    assert!(
        total * 2 > releases.len() && servers.len() > 5,
        "{total} of {} releases were replayed",
        releases.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
}
