//! Finds values that one schema accepts and another rejects. Candidates prove nothing: both validators, each in the
//! dialect its author chose, have the last word on every value that leaves this file.

use std::collections::HashSet;

use serde_json::Value;

use super::{Counterexample, Rejection, Schema, facts::Node, limits, sample};

/// Values of `inner` (and of all of `also`) that `outer` rejects, the plainest first, one for each way of being
/// rejected. `from` and `hints` are where candidates are built from; they need not be the schemas themselves.
pub fn search(
    inner: &Schema,
    outer: &Schema,
    also: &[&Schema],
    from: &Value,
    hints: &Value,
) -> Vec<Counterexample> {
    let holds = |value: &Value| {
        outer.accepts(value) == Some(false)
            && inner.accepts(value) == Some(true)
            && also.iter().all(|s| s.accepts(value) == Some(true))
    };
    let node = |schema| Node { schema, root: schema };
    // A small round finds most of what there is to find.
    let mut found =
        round(outer, &holds, sample::candidates(&[node(from)], &[node(hints)], limits::FIRST_VALUES));
    if found.is_empty() {
        found =
            round(outer, &holds, sample::candidates(&[node(from)], &[node(hints)], limits::SEARCH_VALUES));
    }
    found.sort_by_cached_key(|c| {
        let text = c.value.to_string();
        (c.rejections.len(), limits::nodes(&c.value), text.len(), text)
    });
    found.dedup_by(|a, b| a.value == b.value);
    found
}

/// The counterexamples among some candidates, one for each way of being rejected.
fn round(
    outer: &Schema,
    holds: &dyn Fn(&Value) -> bool,
    candidates: Vec<sample::Candidate>,
) -> Vec<Counterexample> {
    let mut ways: HashSet<Vec<(String, String)>> = HashSet::new();
    let mut found: Vec<Counterexample> = Vec::new();
    for candidate in candidates {
        // The telling ones come first; with a counterexample in hand, the rest is not worth its time.
        if (!found.is_empty() && !candidate.telling) || !holds(&candidate.value) {
            continue;
        }
        let rejections = outer.rejections(&candidate.value);
        if rejections.is_empty() || !ways.insert(ways_of(&rejections)) {
            continue;
        }
        found.push(smaller(Counterexample { value: candidate.value, rejections }, outer, holds));
        if found.len() == limits::COUNTEREXAMPLES {
            break;
        }
    }
    found
}

fn ways_of(rejections: &[Rejection]) -> Vec<(String, String)> {
    rejections.iter().map(|r| (r.keyword.clone(), r.at.as_str().to_owned())).collect()
}

/// Leaves out what a counterexample does not need, as long as it is rejected in the same way.
fn smaller(mut best: Counterexample, outer: &Schema, holds: &dyn Fn(&Value) -> bool) -> Counterexample {
    let kept = ways_of(&best.rejections);
    let mut tries = 200;
    loop {
        let mut better = None;
        for value in without_one(&best.value) {
            if tries == 0 {
                return best;
            }
            tries -= 1;
            if holds(&value) {
                let rejections = outer.rejections(&value);
                if ways_of(&rejections) == kept {
                    better = Some(Counterexample { value, rejections });
                    break;
                }
            }
        }
        match better {
            Some(value) => best = value,
            None => return best,
        }
    }
}

/// The value without one of its properties or its last item, at every depth.
fn without_one(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(map) => {
            let mut out = Vec::new();
            for key in map.keys() {
                let mut less = map.clone();
                less.shift_remove(key);
                out.push(Value::Object(less));
            }
            for (key, sub) in map {
                for less in without_one(sub) {
                    let mut copy = map.clone();
                    copy.insert(key.clone(), less);
                    out.push(Value::Object(copy));
                }
            }
            out
        }
        Value::Array(items) => {
            let mut out = Vec::new();
            if let Some((_, rest)) = items.split_last() {
                out.push(Value::Array(rest.to_vec()));
            }
            for (i, item) in items.iter().enumerate().take(4) {
                for less in without_one(item) {
                    let mut copy = items.clone();
                    copy[i] = less;
                    out.push(Value::Array(copy));
                }
            }
            out
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
