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
    }
    let toolpact = env!("CARGO_BIN_EXE_toolpact");
    let times =
        (0..ROUNDS).map(|_| timed(Command::new(toolpact).args(["explain", "required-added"]))).collect();
    println!("start-up of an offline command: {:.1} ms", median(times));
}
