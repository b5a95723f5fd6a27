//! `toolpact diff` of two 119-tool lists as a whole process, beside `cat` of both files plus a process start.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

const TOOLS: usize = 119;
const ROUNDS: usize = 60;

/// A list of `TOOLS` tools made from one release of the demo server; those below `changed` from another.
fn list(release: &str, changed: usize, other: &str) -> String {
    let read = |name: &str| -> Vec<Value> {
        let path = format!("{}/catalogs/demo-server/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let value: Value = serde_json::from_str(&fs::read_to_string(path).expect("a release")).expect("JSON");
        value["tools"].as_array().expect("tools").clone()
    };
    let (mine, theirs) = (read(release), read(other));
    let tools: Vec<Value> = (0..TOOLS)
        .map(|i| {
            let from = if i < changed { &theirs } else { &mine };
            let mut tool = from[i % mine.len().min(theirs.len())].clone();
            tool["name"] =
                format!("{}_{i}", mine[i % mine.len().min(theirs.len())]["name"].as_str().unwrap_or("t"))
                    .into();
            tool
        })
        .collect();
    json!({ "tools": tools }).to_string()
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    command.stdout(Stdio::null()).status().expect("it starts");
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn compare(what: &str, before: &Path, after: &Path) {
    let toolpact = env!("CARGO_BIN_EXE_toolpact");
    let (mut diff, mut cat, mut start) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        diff.push(timed(Command::new(toolpact).arg("diff").args([before, after])));
        cat.push(timed(Command::new("cat").args([before, after])));
        start.push(timed(&mut Command::new("true")));
    }
    let (diff, cat, start) = (median(diff), median(cat), median(start));
    println!(
        "{what}: diff {diff:.1} ms, cat of both {cat:.1} ms, process start {start:.1} ms: {:.1} times",
        diff / (cat + start)
    );
}

/// Releases of a real server of that size, one after another, from the folder that `TOOLPACT_CORPUS` names.
fn releases() {
    let corpus = std::env::var("TOOLPACT_CORPUS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus").to_owned());
    let folder = Path::new(&corpus).join("servers/github-mcp-server");
    for (before, after) in
        [("v1.1.0", "v1.1.1"), ("v1.10.0", "v1.10.1"), ("v1.0.4", "v1.0.5"), ("v1.0.5", "v1.1.0")]
    {
        let file = |version: &str| folder.join(format!("{version}.json"));
        let (before, after) = (file(before), file(after));
        let tools = |path: &Path| -> Option<Vec<Value>> {
            let value: Value = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
            value["tools"].as_array().cloned()
        };
        let (Some(old), Some(new)) = (tools(&before), tools(&after)) else {
            println!(
                "no lists of a real server in {}; TOOLPACT_CORPUS names another folder",
                folder.display()
            );
            return;
        };
        let changed = old.iter().filter(|tool| !new.contains(tool)).count();
        compare(&format!("a real release, {changed} of {} tools changed", old.len()), &before, &after);
    }
}

/// A cold gate of a saved answer against a lockfile, as a pre-commit hook runs it.
fn gate(folder: &Path, before: &Path, changed: usize, after: &Path) {
    let toolpact = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolpact"));
        command.current_dir(folder);
        command
    };
    let mut lock = toolpact();
    lock.args(["lock", "--update", "--server", "s", "--file"]).arg(before);
    timed(&mut lock);
    let times = (0..ROUNDS).map(|_| timed(toolpact().args(["gate", "--file"]).arg(after))).collect();
    println!("119 tools, {changed} from the next release: gate --file {:.1} ms", median(times));
}

fn main() {
    let dir = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: String| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let before = write("before.json", list("release-2", 0, "release-2"));
    for changed in [0, 5, 20, TOOLS] {
        let after = write("after.json", list("release-2", changed, "release-3"));
        compare(&format!("119 tools, {changed} from the next release"), &before, &after);
        gate(dir.path(), &before, changed, &after);
    }
    releases();
    let toolpact = env!("CARGO_BIN_EXE_toolpact");
    let times =
        (0..ROUNDS).map(|_| timed(Command::new(toolpact).args(["explain", "required-added"]))).collect();
    println!("start-up of an offline command: {:.1} ms", median(times));
}
