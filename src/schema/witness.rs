//! Finds values that one schema accepts and another rejects. Candidates prove nothing: both validators, each in the
//! dialect its author chose, have the last word on every value that leaves this file.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Counterexample, Rejection, Schema, Tried, Way, facts::Node, limits, sample};

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
    let mut found = round(outer, &holds, sample::candidates(node(from), node(hints), limits::FIRST_VALUES));
    if found.is_empty() {
        found = round(outer, &holds, sample::candidates(node(from), node(hints), limits::SEARCH_VALUES));
    }
    found.sort_by_cached_key(plainness);
    found.dedup_by(|a, b| a.value == b.value);
    found
}

/// Adds counterexamples that are rejected in other ways.
pub fn add(found: &mut Vec<Counterexample>, more: Vec<Counterexample>) {
    let known: HashSet<_> = found.iter().map(|c| ways_of(&c.rejections)).collect();
    found.extend(more.into_iter().filter(|c| !known.contains(&ways_of(&c.rejections))));
}

/// What becomes of some values, as they stand; see [`super::tried`].
pub fn among(inner: &Schema, outer: &Schema, values: &[&Value]) -> Tried {
    let mut tried = Tried::default();
    let mut ways: HashMap<Way, Counterexample> = HashMap::new();
    for value in values {
        if inner.accepts(value) == Some(false) {
            tried.rejected_before += 1;
        } else if inner.accepts(value) == Some(true) && outer.accepts(value) == Some(false) {
            tried.broken += 1;
            let found = Counterexample { value: (*value).clone(), rejections: outer.rejections(value) };
            if found.rejections.is_empty() {
                continue;
            }
            let best = ways.entry(ways_of(&found.rejections)).or_insert_with(|| found.clone());
            if plainness(&found) < plainness(best) {
                *best = found;
            }
        }
    }
    tried.found = ways.into_values().collect();
    tried.found.sort_by_cached_key(plainness);
    tried.found.truncate(limits::COUNTEREXAMPLES);
    tried
}

/// Less for the plainer of two counterexamples; the same for none.
fn plainness(found: &Counterexample) -> (usize, usize, usize, String) {
    let text = found.value.to_string();
    (found.rejections.len(), limits::nodes(&found.value), text.len(), text)
}

/// The counterexamples among some candidates, one for each way of being rejected.
fn round(
    outer: &Schema,
    holds: &dyn Fn(&Value) -> bool,
    candidates: Vec<sample::Candidate>,
) -> Vec<Counterexample> {
    let mut ways: Vec<Way> = Vec::new();
    let mut found: Vec<Counterexample> = Vec::new();
    for candidate in candidates {
        // The telling ones come first; with a counterexample in hand, the rest is not worth its time.
        if (!found.is_empty() && !candidate.telling) || !holds(&candidate.value) {
            continue;
        }
        let way = outer.objections(&candidate.value);
        if way.is_empty() || ways.contains(&way) {
            continue;
        }
        let value = smaller(candidate.value, &way, outer, holds);
        ways.push(way);
        found.push(Counterexample { rejections: outer.rejections(&value), value });
        if found.len() == limits::COUNTEREXAMPLES {
            break;
        }
    }
    found
}

fn ways_of(rejections: &[Rejection]) -> Way {
    rejections.iter().map(|r| (r.keyword.clone(), r.at.as_str().to_owned())).collect()
}

/// Leaves out what a counterexample does not need, as long as it is rejected in the same way.
fn smaller(mut best: Value, way: &Way, outer: &Schema, holds: &dyn Fn(&Value) -> bool) -> Value {
    let mut tries = limits::SHRINKING;
    let mut part = 1;
    // Halves first, then quarters, down to single members.
    loop {
        let mut shrunk = false;
        for value in without_some(&best, part, tries) {
            tries = tries.saturating_sub(1);
            if holds(&value) && outer.objections(&value) == *way {
                best = value;
                shrunk = true;
                break;
            }
        }
        let finest = part >= members(&best);
        if tries == 0 || (!shrunk && finest) {
            return best;
        }
        if !shrunk {
            part *= 2;
        }
    }
}

/// The largest number of members of any part of a value.
fn members(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.values().map(members).max().unwrap_or(0).max(map.len()),
        Value::Array(items) => items.iter().map(members).max().unwrap_or(0).max(items.len()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// The value without one of `parts` equal parts of its properties, or without its last items; at every depth, at most
/// `most` of them.
fn without_some(value: &Value, parts: usize, most: usize) -> Vec<Value> {
    let mut out = Vec::new();
    match value {
        Value::Object(map) => {
            let size = map.len().div_ceil(parts).max(1);
            for start in (0..map.len()).step_by(size).take(most) {
                let kept = map.iter().enumerate().filter(|(i, _)| !(start..start + size).contains(i));
                out.push(Value::Object(kept.map(|(_, (k, v))| (k.clone(), v.clone())).collect()));
            }
            for (key, sub) in map {
                for less in without_some(sub, parts, most.saturating_sub(out.len())) {
                    let mut copy = map.clone();
                    copy.insert(key.clone(), less);
                    out.push(Value::Object(copy));
                }
            }
        }
        Value::Array(items) => {
            if !items.is_empty() && most > 0 {
                out.push(Value::Array(items[..items.len() - items.len().div_ceil(parts)].to_vec()));
            }
            for (i, item) in items.iter().enumerate().take(4) {
                for less in without_some(item, parts, most.saturating_sub(out.len())) {
                    let mut copy = items.clone();
                    copy[i] = less;
                    out.push(Value::Array(copy));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    out
}
