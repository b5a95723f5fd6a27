//! Every witness that a diff shows, put to a second validator: Python's `jsonschema`, which shares no code and no author
//! with the one that confirmed it.
//!
//! `tests/run` installs it beside the real servers. Without it this test passes and says so; in CI it fails.

use std::{collections::BTreeMap, fs::File, io::Write as _, process::Command};

use serde_json::{Value, json};
use toolpact::diff::{Assumption, Surface, case::cases, diff, rules};

use crate::{properties, real, rules::side};

/// Generated pairs whose witnesses are put.
const PAIRS: u64 = 800;

/// A value that one schema is said to accept and another to reject.
struct Question {
    of: String,
    good: Value,
    bad: Value,
    value: Value,
}

fn questions() -> Vec<Question> {
    let mut out = Vec::new();
    for rule in rules::all() {
        for case in cases(rule).expect("the cases of a rule are valid YAML").into_iter().filter(|c| !c.tools)
        {
            ask(&format!("{}: {}", rule.id, case.name), &case.baseline, &case.candidate, &mut out);
        }
    }
    for (n, (baseline, candidate)) in properties::pairs(PAIRS).enumerate() {
        ask(&format!("generated pair {n}"), &baseline, &candidate, &mut out);
    }
    out
}

fn ask(of: &str, baseline: &Value, candidate: &Value, out: &mut Vec<Question>) {
    let tools = |schema: &Value| json!([{"name": "t", "inputSchema": schema, "outputSchema": schema}]);
    for assumption in [Assumption::Declared, Assumption::Strict] {
        let report = diff(&side("before", &tools(baseline)), &side("after", &tools(candidate)), assumption);
        for finding in report.tools.iter().flat_map(|t| &t.findings) {
            let Some(witness) = &finding.witness else { continue };
            let (good, bad) = match finding.surface {
                Surface::Output => (candidate, baseline),
                _ => (baseline, candidate),
            };
            let of = format!("{of}, {} of {}", finding.rule, finding.surface);
            out.push(Question { of, good: good.clone(), bad: bad.clone(), value: witness.value.clone() });
        }
    }
}

/// Why the two validators are known to differ on a question, or why Python has no answer; nothing where both have to
/// confirm it.
fn apart(question: &Question, answer: &Value) -> Option<&'static str> {
    let text = format!("{} {}", question.good, question.bad);
    let cannot = answer["cannot"].as_str().unwrap_or_default();
    if cannot.starts_with("error: bad escape \\p") {
        return Some("Python's patterns have no `\\p`");
    }
    if cannot.starts_with("RecursionError") {
        return Some("Python follows a reference that leads back to itself for the same value");
    }
    if text.contains("\"dependencies\"") {
        // 2019-09 took it out; one validator asserts it in every dialect, the other only where it belongs.
        return Some("`dependencies` in a dialect that has no such keyword");
    }
    if (text.contains("\"pattern\"") || text.contains("\"patternProperties\""))
        && !text_is_plain(&question.value)
    {
        // `\d`, `\w`, `\s` and `\b` are Unicode there, `.` takes more ends of lines, `$` stands before the last one.
        return Some("a pattern on a text that is not printable ASCII");
    }
    None
}

fn text_is_plain(value: &Value) -> bool {
    let plain = |text: &str| text.bytes().all(|b| (b' '..=b'~').contains(&b));
    match value {
        Value::String(text) => plain(text),
        Value::Array(items) => items.iter().all(text_is_plain),
        Value::Object(map) => map.iter().all(|(name, value)| plain(name) && text_is_plain(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

#[test]
fn another_validator_confirms_every_witness() {
    let Some(python) = real::installed("jsonschema-4.26.0", "bin/python") else { return };
    let questions = questions();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("questions");
    let mut file = File::create(&path).expect("a file");
    for Question { good, bad, value, .. } in &questions {
        writeln!(file, "{}", json!({"good": good, "bad": bad, "value": value})).expect("a line");
    }
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/recheck.py"))
        .stdin(File::open(&path).expect("the file"))
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an answer"))
        .collect();
    assert_eq!(answers.len(), questions.len(), "an answer to each");

    let (mut wrong, mut left_out) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for (question, answer) in questions.iter().zip(&answers) {
        if answer == &json!({"good": true, "bad": false}) {
            continue;
        }
        match apart(question, answer) {
            Some(reason) => *left_out.entry(reason).or_default() += 1,
            None => wrong.push(format!(
                "{}: {answer}\n  value   {}\n  accepts {}\n  rejects {}",
                question.of, question.value, question.good, question.bad
            )),
        }
    }
    eprintln!("{} witnesses, left out: {left_out:?}", questions.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), questions.len(), wrong.join("\n"));
    let known: usize = left_out.values().sum();
    assert!(known * 20 < questions.len(), "too many are left out to call this a check: {left_out:?}");
}
