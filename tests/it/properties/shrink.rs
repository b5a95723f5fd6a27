//! Makes a failing case small: what is left is what the failure needs.

use serde_json::Value;

use super::Case;

/// Cases tried for one failure.
const TRIES: usize = 3_000;

/// A smallest case that still fails, as far as the tries go.
pub(super) fn smallest(mut best: Case, fails: &dyn Fn(&Case) -> bool) -> Case {
    let mut tries = TRIES;
    while let Some(smaller) = candidates(&best).into_iter().take(tries).find(|case| {
        tries -= 1;
        fails(case)
    }) {
        best = smaller;
    }
    best
}

/// Cases a step smaller, the smallest first: both schemas in the same way, then either, then the values.
fn candidates(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    let mut edits = edits(&case.a);
    edits.extend(self::edits(&case.b));
    edits.dedup();
    for edit in &edits {
        let (a, b) = (edit.apply(&case.a), edit.apply(&case.b));
        let with = |a: Option<&Value>, b: Option<&Value>| Case {
            a: a.unwrap_or(&case.a).clone(),
            b: b.unwrap_or(&case.b).clone(),
            values: case.values.clone(),
        };
        if a.is_some() && b.is_some() {
            out.push(with(a.as_ref(), b.as_ref()));
        }
        out.extend(a.as_ref().map(|a| with(Some(a), None)));
        out.extend(b.as_ref().map(|b| with(None, Some(b))));
    }
    if let [value] = case.values.as_slice() {
        let smaller = self::edits(value).into_iter().filter_map(|edit| edit.apply(value));
        out.extend(smaller.map(|v| Case { a: case.a.clone(), b: case.b.clone(), values: vec![v] }));
    }
    out.sort_by_cached_key(size);
    let whole = size(case);
    out.retain(|case| size(case) < whole);
    out
}

fn size(case: &Case) -> usize {
    let size = |value: &Value| value.to_string().len();
    size(&case.a) + size(&case.b) + case.values.iter().map(size).sum::<usize>()
}

#[derive(PartialEq)]
struct Edit {
    at: String,
    how: How,
}

#[derive(PartialEq)]
enum How {
    Remove,
    /// The place holds only what this child of it holds.
    Hoist(String),
    Put(Value),
}

fn edits(value: &Value) -> Vec<Edit> {
    let (mut out, mut queue) = (Vec::new(), vec![(String::new(), value)]);
    while let Some((at, value)) = queue.pop() {
        if !at.is_empty() {
            out.push(Edit { at: at.clone(), how: How::Remove });
        }
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => {
                map.iter().map(|(k, v)| (k.replace('~', "~0").replace('/', "~1"), v)).collect()
            }
            Value::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        for put in [Value::from(1), "a".into(), true.into(), Value::Object(Default::default())] {
            if put.to_string().len() < value.to_string().len() {
                out.push(Edit { at: at.clone(), how: How::Put(put) });
            }
        }
        for (step, child) in children {
            out.push(Edit { at: at.clone(), how: How::Hoist(step.clone()) });
            queue.push((format!("{at}/{step}"), child));
        }
    }
    out
}

impl Edit {
    fn apply(&self, whole: &Value) -> Option<Value> {
        let mut out = whole.clone();
        match &self.how {
            How::Remove => {
                let (around, step) = self.at.rsplit_once('/')?;
                match out.pointer_mut(around)? {
                    Value::Object(map) => {
                        _ = map.shift_remove(&step.replace("~1", "/").replace("~0", "~"))?
                    }
                    Value::Array(items) => {
                        let at = step.parse().ok().filter(|i| *i < items.len())?;
                        items.remove(at);
                    }
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
                }
            }
            How::Hoist(step) => {
                let child = out.pointer(&format!("{}/{step}", self.at))?.clone();
                *out.pointer_mut(&self.at)? = child;
            }
            How::Put(value) => *out.pointer_mut(&self.at)? = value.clone(),
        }
        Some(out)
    }
}
