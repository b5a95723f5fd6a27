//! Generated schemas of every dialect, and values near them, against the validator: what is proved must hold, what is
//! refuted must be shown, and what is called compatible must break no value.
//!
//! The generators are our own, so that a pair can be made by changing a schema and values can be made from both; a
//! failing case is made small as JSON, which reads as a bug report. `TOOLPACT_CASES` and `TOOLPACT_SEED` make a longer
//! or another hunt; all its failures are listed, not only the first.

mod declared;
mod dice;
mod instances;
mod mutate;
mod schemas;
mod shrink;
mod vocabulary;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
};

use dice::Dice;
use serde_json::{Map, Value, json};
use toolpact::{
    contract::Contract,
    diff::{Assumption, Calls, Level, Origin, Report, Surface, diff_with_calls},
    schema::{Answer, Schema, contained},
    snapshot,
};

use crate::rules::side;

/// Cases of each property: enough to meet the usual pairs of keywords, few enough to wait for.
const CASES: u64 = 600;

/// What the cases are made from; the same everywhere.
const SEED: u64 = 7;

/// Values tried on each pair.
const VALUES: usize = 60;

/// Failures listed of one hunt.
const FAILURES: usize = 200;

/// A baseline, a candidate and values near both.
#[derive(Clone)]
struct Case {
    a: Value,
    b: Value,
    values: Vec<Value>,
}

/// What is wrong, and the value that shows it where there is one.
struct Fault {
    what: String,
    value: Option<Value>,
}

impl Case {
    fn new(dice: &mut Dice, pair: fn(&mut Dice, &Value) -> Value) -> Self {
        let a = schemas::document(dice);
        let b = pair(dice, &a);
        let values = instances::near(dice, &a, &b, VALUES);
        Self { a, b, values }
    }

    /// Both as the validator sees them, each in its own dialect; nothing where one is no schema.
    fn schemas(&self) -> Option<(Schema, Schema)> {
        Some((Schema::new(&self.a).ok()?, Schema::new(&self.b).ok()?))
    }
}

/// Mostly a schema and a changed one: two that have nothing to do with each other teach little.
fn any_pair(dice: &mut Dice, a: &Value) -> Value {
    if dice.chance(15) { schemas::document(dice) } else { mutate::changed(dice, a) }
}

/// The pairs of the first cases.
pub(crate) fn pairs(count: u64) -> impl Iterator<Item = (Value, Value)> {
    (0..count).map(|n| Case::new(&mut Dice::new(SEED, n), any_pair)).map(|case| (case.a, case.b))
}

/// A value of the inner schema that is none of the outer.
fn escapes<'v>(
    values: impl IntoIterator<Item = &'v Value>,
    inner: &Schema,
    outer: &Schema,
) -> Option<&'v Value> {
    values.into_iter().find(|v| inner.accepts(v) == Some(true) && outer.accepts(v) == Some(false))
}

/// Makes cases and holds each to a property; every failure is made small and told.
fn hunt(pair: fn(&mut Dice, &Value) -> Value, check: fn(&Case) -> Option<Fault>) {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let (cases, seed) = (number("TOOLPACT_CASES", CASES), number("TOOLPACT_SEED", SEED));
    // A panic is a failure as any other, and has to be made small as well.
    let check = |case: &Case| {
        // A tool's schema is an object; a case made small need not be.
        if !case.a.is_object() || !case.b.is_object() {
            return None;
        }
        catch_unwind(AssertUnwindSafe(|| check(case))).unwrap_or_else(|panic| {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or(panic.downcast_ref::<&str>().copied());
            Some(Fault { what: format!("panics: {}", words.unwrap_or_default()), value: None })
        })
    };
    let mut found = BTreeSet::new();
    for n in 0..cases {
        let case = Case::new(&mut Dice::new(seed, n), pair);
        let Some(fault) = check(&case) else { continue };
        let guilty = fault.value.map_or_else(|| case.values.clone(), |v| vec![v]);
        let small = shrink::smallest(Case { values: guilty, ..case }, &|case| check(case).is_some());
        if let Some(fault) = check(&small) {
            let value = fault.value.map(|v| format!("\n  value      {v}")).unwrap_or_default();
            found
                .insert(format!("{}\n  baseline   {}\n  candidate  {}{value}", fault.what, small.a, small.b));
        }
        if found.len() == FAILURES {
            break;
        }
    }
    let all: Vec<String> = found.into_iter().collect();
    assert!(all.is_empty(), "{} failures of {cases} cases:\n\n{}", all.len(), all.join("\n\n"));
}

#[test]
fn what_is_proved_no_value_refutes_and_what_is_refuted_a_value_shows() {
    hunt(any_pair, |case| {
        let (a, b) = case.schemas()?;
        match contained(&a, &b, &[]) {
            Answer::Contained(how) => {
                let value = escapes(&case.values, &a, &b)?.clone();
                Some(Fault { what: format!("contained by {how}"), value: Some(value) })
            }
            Answer::Refuted(found) => {
                let shown = |value| a.accepts(value) == Some(true) && b.accepts(value) == Some(false);
                let wrong = found.iter().find(|c| !shown(&c.value) || c.rejections.is_empty());
                match (wrong, found.is_empty()) {
                    (Some(c), _) => {
                        Some(Fault { what: "shown by no example".to_owned(), value: Some(c.value.clone()) })
                    }
                    (None, true) => Some(Fault { what: "refuted by nothing".to_owned(), value: None }),
                    (None, false) => None,
                }
            }
            Answer::Unknown(_) => None,
        }
    });
}

#[test]
fn what_is_called_compatible_breaks_no_value() {
    hunt(any_pair, |case| {
        let (a, b) = case.schemas()?;
        for assumption in [Assumption::Strict, Assumption::Declared] {
            let report = report(&case.a, &case.b, assumption);
            // What every declared call carried and nobody reads any more breaks no schema.
            let unread = report
                .tools
                .iter()
                .flat_map(|t| &t.findings)
                .any(|f| f.rule == "property-removed" && f.witness.is_none());
            if report.verdicts.strict < report.verdicts.declared && !unread {
                let what = format!(
                    "strict {} is better than declared {}",
                    report.verdicts.strict, report.verdicts.declared
                );
                return Some(Fault { what, value: None });
            }
            for (tool, inner, outer) in [("input", (&a, &case.a), &b), ("output", (&b, &case.b), &a)] {
                if level(&report, tool) >= Level::Undecided {
                    continue;
                }
                // Arguments and results are objects.
                let meant = case.values.iter().filter(|v| {
                    v.is_object() && (assumption == Assumption::Strict || declared::only_declared(inner.1, v))
                });
                if let Some(value) = escapes(meant, inner.0, outer) {
                    let what = format!("{tool}: {} under {assumption}", level(&report, tool));
                    return Some(Fault { what, value: Some(value.clone()) });
                }
            }
            for finding in report.tools.iter().flat_map(|t| &t.findings) {
                let Some(witness) = &finding.witness else { continue };
                let output = finding.surface == Surface::Output;
                let (good, bad) = if output { (&b, &a) } else { (&a, &b) };
                // No call has anything but an object for its arguments.
                let callable = output || witness.value.is_object();
                if !callable || escapes([&witness.value], good, bad).is_none() {
                    let what = format!("{} witness of {}", finding.surface, finding.rule);
                    return Some(Fault { what, value: Some(witness.value.clone()) });
                }
            }
        }
        None
    });
}

#[test]
fn a_recorded_call_that_breaks_is_shown_and_no_call_makes_a_verdict_better() {
    hunt(any_pair, |case| {
        let (a, b) = case.schemas()?;
        let arguments: Vec<&Value> = case.values.iter().filter(|v| v.is_object()).collect();
        let calls: Vec<Value> = arguments.iter().map(|v| json!({"name": "input", "arguments": v})).collect();
        let calls = Calls::read(&Value::Array(calls).to_string()).expect("recorded calls");
        for assumption in [Assumption::Strict, Assumption::Declared] {
            let without = level(&report(&case.a, &case.b, assumption), "input");
            let report = report_with(&case.a, &case.b, assumption, &calls);
            let tool = report.tools.iter().find(|t| t.tool == "input");
            let mut recorded = tool
                .into_iter()
                .flat_map(|t| &t.findings)
                .filter_map(|f| f.witness.as_ref())
                .filter(|w| w.origin == Origin::Recorded);
            let level = level(&report, "input");
            if level < without {
                let what = format!("{without} without calls and {level} with them, under {assumption}");
                return Some(Fault { what, value: None });
            }
            if let Some(value) = escapes(arguments.iter().copied(), &a, &b)
                && (level != Level::Breaking || recorded.clone().next().is_none())
            {
                let what = format!("a call breaks, and the tool is {level} under {assumption}");
                return Some(Fault { what, value: Some(value.clone()) });
            }
            if let Some(witness) = recorded.find(|w| !arguments.contains(&&w.value)) {
                return Some(Fault {
                    what: "recorded by nobody".to_owned(),
                    value: Some(witness.value.clone()),
                });
            }
        }
        None
    });
}

/// Schemas of one contract digest, and schemas that are said to differ in notation only.
#[test]
fn what_is_called_notation_tells_no_value_apart() {
    hunt(mutate::rewritten, |case| {
        let (a, b) = case.schemas()?;
        let (before, after) = (contract(&case.a), contract(&case.b));
        let same = before.digests().contract == after.digests().contract;
        let report = report(&case.a, &case.b, Assumption::Strict);
        let of_input = report.tools.iter().filter(|t| t.tool == "input");
        let rewritten = of_input.flat_map(|t| &t.findings).any(|f| f.rule == "notation-changed");
        if !same && !rewritten {
            return None;
        }
        let objects = || case.values.iter().filter(|v| v.is_object());
        let value = escapes(objects(), &a, &b).or_else(|| escapes(objects(), &b, &a))?.clone();
        let what = if same { "one digest" } else { "notation-changed" };
        Some(Fault { what: what.to_owned(), value: Some(value) })
    });
}

#[test]
fn the_order_of_keys_changes_nothing() {
    hunt(
        |_, a| reversed(a),
        |case| {
            let (before, after) = (contract(&case.a), contract(&case.b));
            let same = before.digests().contract == after.digests().contract;
            (!same).then(|| Fault { what: "another digest".to_owned(), value: None })
        },
    );
}

#[test]
fn a_tool_against_itself_is_silent() {
    hunt(
        |_, a| a.clone(),
        |case| {
            let report = report(&case.a, &case.a, Assumption::Strict);
            (!report.tools.is_empty()).then(|| Fault { what: "a change".to_owned(), value: None })
        },
    );
}

/// One schema as what a tool takes and, in another tool, as what it gives.
fn report(baseline: &Value, candidate: &Value, assumption: Assumption) -> Report {
    report_with(baseline, candidate, assumption, &Calls::default())
}

fn report_with(baseline: &Value, candidate: &Value, assumption: Assumption, calls: &Calls) -> Report {
    let tools = |schema: &Value| {
        let output = json!({"name": "output", "inputSchema": {"type": "object"}, "outputSchema": schema});
        json!([{"name": "input", "inputSchema": schema}, output])
    };
    let (before, after) = (side("baseline", &tools(baseline)), side("candidate", &tools(candidate)));
    diff_with_calls(&before, &after, assumption, calls)
}

/// The verdict on a tool; one that is not told of is the same.
fn level(report: &Report, tool: &str) -> Level {
    report.tools.iter().find(|t| t.tool == tool).map_or(Level::Compatible, |t| t.verdict)
}

fn contract(schema: &Value) -> Contract {
    let tool = json!({"name": "t", "inputSchema": schema}).to_string();
    let raws = snapshot::split(&format!("[{tool}]")).expect("a list");
    Contract::of(&raws[0]).expect("a contract")
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            map.iter().rev().map(|(k, v)| (k.clone(), reversed(v))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}
