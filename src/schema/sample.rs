//! Builds values of one schema that another is likely to reject.
//!
//! Heuristic from end to end: whatever comes out is only a candidate, and validators decide ([`super::witness`]). The
//! *hints* are the schemas of the other side for the same place: their bounds, names and values say where to look.

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

use super::{
    facts::{self, Flat, Node, Part, types},
    limits,
    pattern::{self, Inclusion},
};
use crate::json;

/// A candidate, and whether the hints make it worth trying early.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The value.
    pub value: Value,
    /// It seems to leave the other side.
    pub telling: bool,
}

/// At most so many candidates for a conjunction, the plainest first, then the most telling.
#[must_use]
pub fn candidates<'a>(inner: &[Node<'a>], hints: &[Node<'a>], most: usize) -> Vec<Candidate> {
    let mut sampler = Sampler { left: 4 * limits::SEARCH_VALUES, places: limits::SEARCH_PLACES };
    sampler.sample(inner, hints, 0, most)
}

struct Sampler {
    /// Values that may still be built, at every depth.
    left: usize,
    /// Places that may still be looked at; cases of unions multiply them.
    places: usize,
}

impl Sampler {
    fn sample<'a>(
        &mut self,
        inner: &[Node<'a>],
        hints: &[Node<'a>],
        depth: usize,
        most: usize,
    ) -> Vec<Candidate> {
        if depth > limits::VALUE_DEPTH || self.places == 0 {
            return Vec::new();
        }
        self.places -= 1;
        // Out of budget, one value for each place still lets the larger ones be finished.
        let most = if self.left == 0 { 1 } else { most };
        let Flat::Parts(parts) = facts::flatten(inner) else { return Vec::new() };
        self.places = self.places.saturating_sub(parts.len() / 4);
        // Recursion is unrolled a few times, plain nesting is followed to its end.
        if depth > limits::UNROLLED && parts.iter().any(|p| p.get("$ref").is_some()) {
            return Vec::new();
        }
        if most <= 2
            && let Some(value) = simplest(&parts)
        {
            return vec![plain(value)];
        }
        if let Some(cases) = cases(inner, &parts) {
            let most_each = (most / cases.len().max(1)).max(3);
            let all = cases.iter().map(|case| self.sample(case, hints, depth, most_each)).collect();
            return alternate(all, most);
        }
        let hints = spread(hints);
        let mask = facts::types_of(&parts, 3);
        let mut values = Vec::new();
        if let Some(listed) = facts::finite(&parts) {
            values.extend(listed.into_iter().take(most).cloned().map(plain));
        } else {
            values.extend(given(&parts).cloned().map(plain));
            if mask & types::STRING != 0 {
                values.extend(strings(&parts, &hints).into_iter().map(|s| plain(Value::String(s))));
            }
            if mask & types::NUMBER != 0 {
                values.extend(numbers(&parts, &hints, mask).into_iter().map(|n| plain(Value::Number(n))));
            }
            if mask & types::BOOLEAN != 0 {
                values.extend([true, false].map(|b| plain(Value::Bool(b))));
            }
            // Where neither side speaks of members or items, there is nothing to look for in them.
            if mask & types::OBJECT != 0 {
                if speaks(&parts, types::OBJECT) || speaks(&hints, types::OBJECT) {
                    values.extend(self.objects(&parts, &hints, depth, most));
                } else {
                    values.extend([json!({}), json!({"a": 1})].map(plain));
                }
            }
            if mask & types::ARRAY != 0 {
                if speaks(&parts, types::ARRAY) || speaks(&hints, types::ARRAY) {
                    values.extend(self.arrays(&parts, &hints, depth, most));
                } else {
                    values.extend([json!([]), json!(["a"]), json!([1, "a", null])].map(plain));
                }
            }
            if mask & types::NULL != 0 {
                values.push(plain(Value::Null));
            }
        }
        values.retain(|c| fits(&parts, &c.value));
        self.left = self.left.saturating_sub(values.len());
        order(values, &hints, most)
    }

    fn objects<'a>(
        &mut self,
        parts: &[Part<'a>],
        hints: &[Part<'a>],
        depth: usize,
        most: usize,
    ) -> Vec<Candidate> {
        let open = !facts::undeclared(parts).iter().any(|n| n.schema == &Value::Bool(false));
        let mut names = facts::declared(parts);
        let mut known: HashSet<&str> = names.iter().copied().collect();
        let more = facts::required(parts).chain(if open { facts::declared(hints) } else { Vec::new() });
        names.extend(more.filter(|name| known.insert(name)));
        let most_each = match depth {
            0 => limits::PLACE_VALUES,
            1 => 24,
            2 => 12,
            3..=5 => 6,
            _ => 3,
        };
        let mut choices: Vec<(&str, Vec<Candidate>)> = Vec::new();
        let optional = names.iter().filter(|n| !facts::requires(parts, n)).count();
        let mut base = Map::new();
        for name in names {
            let met = facts::property(parts, name).unwrap_or_default();
            let wanted = facts::property(hints, name).unwrap_or_default();
            let required = facts::requires(parts, name);
            // What both sides say in the same words tells nothing.
            let same = alike(&met, &wanted);
            if !required && depth >= 8 && (same || optional > 4) {
                continue;
            }
            let values = self.sample(&met, &wanted, depth + 1, if same { 2 } else { most_each });
            match values.first() {
                Some(first) if required => _ = base.insert(name.to_owned(), first.value.clone()),
                None if required => return Vec::new(),
                _ => {}
            }
            choices.push((name, values));
        }
        let with = |object: &Map<String, Value>, name: &str, candidate: &Candidate| {
            let mut object = object.clone();
            object.insert(name.to_owned(), candidate.value.clone());
            Candidate { value: Value::Object(object), telling: candidate.telling }
        };
        let mut full = base.clone();
        for (name, values) in &choices {
            if let (Some(first), false) = (values.first(), full.contains_key(*name)) {
                full.insert((*name).to_owned(), first.value.clone());
            }
        }
        let mut out = vec![plain(Value::Object(base.clone()))];
        // What seems to leave the other side comes first, whatever else there is no room for.
        for (name, values) in &choices {
            out.extend(values.iter().filter(|c| c.telling).take(8).map(|c| with(&base, name, c)));
        }
        // One change at a time, every property once before any property twice.
        for round in 0..most_each {
            let before = out.len();
            for (name, values) in &choices {
                if out.len() > 2 * most {
                    break;
                }
                if let Some(candidate) = values.get(round) {
                    out.push(with(&base, name, candidate));
                    if out.len() < most && (round == 0 || (round < 3 && candidate.telling)) {
                        out.push(with(&full, name, candidate));
                    }
                }
            }
            if out.len() == before || out.len() > 2 * most {
                break;
            }
        }
        out.push(plain(Value::Object(full.clone())));
        let optional: Vec<_> =
            choices.iter().filter(|(n, v)| !base.contains_key(*n) && !v.is_empty()).collect();
        if optional.len() <= 8 {
            for (i, (a, first)) in optional.iter().enumerate() {
                out.push({
                    let mut without = full.clone();
                    without.shift_remove(*a);
                    plain(Value::Object(without))
                });
                for (b, second) in &optional[i + 1..] {
                    let Value::Object(one) = with(&base, a, &first[0]).value else { continue };
                    out.push(with(&one, b, &second[0]));
                }
            }
        }
        if open {
            let met = facts::undeclared(parts);
            let wanted = facts::undeclared(hints);
            let key = ["extra", "other", "undeclared_property"].into_iter().find(|k| !full.contains_key(*k));
            // Names that the other side does not take.
            let unlike = hints.iter().filter_map(|p| p.sub("propertyNames")).flat_map(|names| {
                let names = spread(&[names]);
                strings(&[], &names)
                    .into_iter()
                    .filter(move |s| !fits(&names, &Value::String(s.clone())))
                    .take(4)
            });
            for key in unlike.filter(|k| !full.contains_key(k)).collect::<Vec<_>>() {
                out.extend(self.sample(&met, &wanted, depth + 1, 1).iter().map(|c| with(&base, &key, c)));
            }
            for candidate in self.sample(&met, &wanted, depth + 1, 4) {
                out.extend(key.map(|key| with(&base, key, &candidate)));
                // Enough of them to cross a bound on their number.
                if let Some(most) = facts::count(hints, "maxProperties").filter(|n| *n < 64) {
                    let mut many = base.clone();
                    (0..=most).for_each(|i| _ = many.insert(format!("key{i}"), candidate.value.clone()));
                    out.push(plain(Value::Object(many)));
                }
            }
        }
        for part in parts.iter().chain(if open { hints } else { &[] }) {
            for (pattern, _) in part.map("patternProperties") {
                for key in pattern_samples(pattern, None).into_iter().take(3) {
                    let met = facts::property(parts, &key).unwrap_or_default();
                    let wanted = facts::property(hints, &key).unwrap_or_default();
                    out.extend(self.sample(&met, &wanted, depth + 1, 6).iter().map(|c| with(&base, &key, c)));
                }
            }
        }
        if let Some(least) = facts::count(parts, "minProperties") {
            for candidate in &mut out {
                let Value::Object(map) = &mut candidate.value else { continue };
                for (name, value) in &full {
                    if (map.len() as u64) < least {
                        map.entry(name.clone()).or_insert_with(|| value.clone());
                    }
                }
                for i in 0..least.min(64) {
                    if open && (map.len() as u64) < least {
                        map.entry(format!("key{i}")).or_insert(Value::Null);
                    }
                }
            }
        }
        out
    }

    fn arrays<'a>(
        &mut self,
        parts: &[Part<'a>],
        hints: &[Part<'a>],
        depth: usize,
        most: usize,
    ) -> Vec<Candidate> {
        let least = facts::count(parts, "minItems").unwrap_or(0).min(limits::LONGEST) as usize;
        let unique = parts.iter().any(|p| p.get("uniqueItems") == Some(&Value::Bool(true)));
        let prefix = facts::prefix(parts).max(facts::prefix(hints)).min(16);
        let most_each = match depth {
            0 | 1 => 24,
            2 => 12,
            _ => 6,
        };
        let columns: Vec<Vec<Candidate>> = (0..=prefix)
            .map(|i| {
                self.sample(&facts::item(parts, i), &facts::item(hints, i), depth + 1, most_each.min(most))
            })
            .collect();
        let Some(rest) = columns.last() else { return Vec::new() };
        // An array of this length, every item as plain as can be.
        let of_length = |n: usize| -> Option<Vec<Value>> {
            (0..n)
                .map(|i| {
                    let column = columns.get(i).unwrap_or(rest);
                    let nth = if unique && i >= prefix { i - prefix } else { 0 };
                    match column.get(nth) {
                        Some(candidate) => Some(candidate.value.clone()),
                        None if unique => apart(rest.first()?, i),
                        None => None,
                    }
                })
                .collect()
        };
        let mut lengths = vec![least, 0, 1, 2];
        lengths.extend([least + 1, prefix, prefix + 1]);
        for (side, keyword) in [(hints, "maxItems"), (hints, "minItems"), (parts, "maxItems")] {
            if let Some(n) = facts::count(side, keyword).filter(|n| *n <= limits::LONGEST) {
                lengths.extend([n as usize, n as usize + 1, (n as usize).saturating_sub(1)]);
            }
        }
        let mut out: Vec<Candidate> =
            lengths.into_iter().filter_map(of_length).map(|items| plain(Value::Array(items))).collect();
        for (i, column) in columns.iter().enumerate() {
            let Some(base) = of_length(least.max(i + 1)) else { continue };
            for candidate in column {
                let mut items = base.clone();
                items[i] = candidate.value.clone();
                out.push(Candidate { value: Value::Array(items), telling: candidate.telling });
            }
        }
        if let (Some(first), false) = (rest.first(), unique) {
            out.push(plain(Value::Array(vec![first.value.clone(); least.max(2)])));
        }
        // What a `contains` of either side asks for.
        for part in parts.iter().chain(hints) {
            if let Some(wanted) = part.sub("contains") {
                for candidate in self.sample(&[wanted], &[], depth + 1, 3) {
                    let mut items = of_length(least).unwrap_or_default();
                    items.push(candidate.value);
                    out.push(plain(Value::Array(items)));
                }
            }
        }
        out
    }
}

/// A value like this one that differs from its neighbours.
fn apart(like: &Candidate, nth: usize) -> Option<Value> {
    match &like.value {
        Value::String(s) => Some(Value::String(format!("{s}{nth}"))),
        Value::Number(_) => Some(json!(nth)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value that can be read off the schema, where nothing but a value is wanted.
fn simplest(parts: &[Part<'_>]) -> Option<Value> {
    if let Some(value) =
        given(parts).chain(facts::finite(parts).into_iter().flatten()).find(|v| fits(parts, v))
    {
        return Some(value.clone());
    }
    let mask = facts::types_of(parts, 1);
    let value = match mask {
        types::STRING => json!("a"),
        types::INTEGER | types::NUMBER => json!(1),
        types::BOOLEAN => json!(true),
        types::ARRAY => json!([]),
        types::OBJECT => json!({}),
        _ => return None,
    };
    fits(parts, &value).then_some(value)
}

/// Whether both sides have the same schema for a place, and no reference that could mean something else.
fn alike(met: &[Node<'_>], wanted: &[Node<'_>]) -> bool {
    match (met, wanted) {
        ([a], [b]) => json::equal(a.schema, b.schema) && !facts::refers(a.schema),
        _ => false,
    }
}

/// Whether any keyword says something of this type in particular.
fn speaks(parts: &[Part<'_>], of: u8) -> bool {
    parts.iter().any(|p| p.keywords.keys().any(|k| facts::applies_to(k).is_some_and(|types| types & of != 0)))
}

fn plain(value: Value) -> Candidate {
    Candidate { value, telling: false }
}

/// The cases of the first union that is not decided yet.
fn cases<'a>(inner: &[Node<'a>], parts: &[Part<'a>]) -> Option<Vec<Vec<Node<'a>>>> {
    let chosen = |node: &Node<'_>| inner.iter().any(|n| n.id() == node.id());
    let with = |more: &[Node<'a>]| inner.iter().chain(more).copied().collect::<Vec<_>>();
    for part in parts {
        for union in ["anyOf", "oneOf"] {
            let branches: Vec<_> = part.list(union).take(24).collect();
            if !branches.is_empty() && !branches.iter().any(&chosen) {
                return Some(branches.iter().map(|b| with(&[*b])).collect());
            }
        }
        let (then, otherwise) = (part.sub("then"), part.sub("else"));
        if let Some(condition) = part.sub("if")
            && !chosen(&condition)
            && !then.iter().chain(&otherwise).any(&chosen)
            && (then.is_some() || otherwise.is_some())
        {
            let mut cases = Vec::new();
            let mut yes = vec![condition];
            yes.extend(then);
            cases.push(with(&yes));
            cases.extend(otherwise.map(|o| with(&[o])));
            // Neither: the condition does not hold and nothing follows from that.
            if otherwise.is_none() && inner.len() < 8 {
                let rest: Vec<Node<'a>> = with(&then.map(|t| vec![t]).unwrap_or_default());
                cases.push(rest);
            }
            return Some(cases);
        }
    }
    None
}

/// Round robin over several lists.
fn alternate(lists: Vec<Vec<Candidate>>, most: usize) -> Vec<Candidate> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|i| lists.iter().filter_map(move |l| l.get(i)).cloned()).take(most).collect()
}

/// Every schema the other side has for this place, unions and conditions spread out.
fn spread<'a>(nodes: &[Node<'a>]) -> Vec<Part<'a>> {
    let (mut out, mut queue, mut seen) = (Vec::new(), nodes.to_vec(), Vec::new());
    while let Some(node) = queue.pop() {
        if seen.contains(&node.id()) || out.len() > 64 {
            continue;
        }
        seen.push(node.id());
        let Flat::Parts(parts) = facts::flatten(&[node]) else { continue };
        for part in parts {
            for keyword in ["anyOf", "oneOf"] {
                queue.extend(part.list(keyword));
            }
            queue.extend(["not", "if", "then", "else"].into_iter().filter_map(|k| part.sub(k)));
            queue.extend(part.map("dependentSchemas").map(|(_, s)| s));
            out.push(part);
        }
    }
    out
}

/// Whether the simple keywords of all parts take a value.
fn fits(parts: &[Part<'_>], value: &Value) -> bool {
    parts.iter().all(|part| {
        part.keywords.iter().all(|(keyword, v)| match (keyword.as_str(), value) {
            ("required", Value::Object(map)) => v
                .as_array()
                .is_none_or(|names| names.iter().filter_map(Value::as_str).all(|n| map.contains_key(n))),
            ("additionalProperties", Value::Object(map)) if v == &Value::Bool(false) => {
                part.get("patternProperties").is_some()
                    || map.keys().all(|k| part.get("properties").is_some_and(|p| p.get(k).is_some()))
            }
            ("maxProperties", Value::Object(map)) => facts::as_count(v).is_none_or(|n| map.len() as u64 <= n),
            ("minProperties", Value::Object(map)) => facts::as_count(v).is_none_or(|n| map.len() as u64 >= n),
            ("multipleOf", Value::Number(n)) => multiple_of(n, v),
            (keyword, value) => facts::all_meet(&[value], keyword, v) != Some(false),
        })
    })
}

fn multiple_of(n: &Number, step: &Value) -> bool {
    let Some(step) = step.as_number() else { return true };
    match (json::integer(n), json::integer(step)) {
        (Some(n), Some(step)) => step == 0 || n % step == 0,
        _ => match (n.as_f64(), step.as_f64()) {
            (Some(n), Some(step)) if step > 0.0 => ((n / step).round() * step - n).abs() < 1e-9,
            _ => true,
        },
    }
}

/// The plainest first (good on both sides), then what the other side seems to reject, then the rest; each value once.
fn order(values: Vec<Candidate>, hints: &[Part<'_>], most: usize) -> Vec<Candidate> {
    let (mut telling, mut rest): (Vec<Candidate>, Vec<Candidate>) = (Vec::new(), Vec::new());
    for mut candidate in values {
        candidate.telling |= !fits(hints, &candidate.value);
        if candidate.telling { telling.push(candidate) } else { rest.push(candidate) }
    }
    let mut out: Vec<Candidate> = Vec::new();
    let mut rest = rest.into_iter();
    out.extend(rest.next());
    let half = most.saturating_sub(1).max(2) * 2 / 3;
    let spare = telling.split_off(telling.len().min(half.max(1)));
    out.extend(telling);
    out.extend(rest);
    out.extend(spare);
    out.truncate(most);
    // Twice the same scalar is twice the work; the larger ones are rarely the same.
    let mut seen: Vec<&Value> = Vec::new();
    let first: Vec<bool> = out
        .iter()
        .map(|c| {
            let scalar = !c.value.is_object() && !c.value.is_array();
            let new = !scalar || !seen.contains(&&c.value);
            if scalar && new {
                seen.push(&c.value);
            }
            new
        })
        .collect();
    let mut first = first.into_iter();
    out.retain(|_| first.next().unwrap_or(true));
    out
}

/// Values the authors themselves give.
fn given<'a>(parts: &[Part<'a>]) -> impl Iterator<Item = &'a Value> {
    parts.iter().flat_map(|part| {
        let examples = part.get("examples").and_then(Value::as_array).into_iter().flatten();
        examples.chain(part.get("example")).chain(part.get("default")).take(6)
    })
}

fn strings(parts: &[Part<'_>], hints: &[Part<'_>]) -> Vec<String> {
    let mut lengths: Vec<u64> = Vec::new();
    for side in [parts, hints] {
        for keyword in ["minLength", "maxLength"] {
            lengths.extend(
                side.iter()
                    .filter_map(|p| p.get(keyword).and_then(facts::as_count))
                    .flat_map(|n| [n, n + 1, n.saturating_sub(1)])
                    .filter(|n| *n <= limits::LONGEST),
            );
        }
    }
    lengths.sort_unstable();
    lengths.dedup();
    let mut out: Vec<String> = Vec::new();
    for pattern in texts(parts, "pattern") {
        for other in texts(hints, "pattern").filter(|other| *other != pattern).take(4) {
            if let Some(Inclusion::Refuted(text)) = pattern::included(pattern, other) {
                out.push(text);
            }
        }
        out.extend(pattern_samples(pattern, None));
        for n in lengths.iter().take(8) {
            out.extend(pattern_samples(pattern, Some(*n)).into_iter().take(3));
        }
    }
    for format in texts(parts, "format").chain(texts(hints, "format")) {
        out.extend(format_sample(format).map(str::to_owned));
    }
    out.extend(
        ["a", "", "0", "A", "x y", "\n", "é", "-1", "true", "_", "a@b.c", "2026-01-01"].map(str::to_owned),
    );
    out.extend(lengths.iter().map(|n| "a".repeat(*n as usize)));
    for hint in hints {
        let listed =
            hint.get("enum").and_then(Value::as_array).into_iter().flatten().chain(hint.get("const"));
        for text in listed.filter_map(Value::as_str).take(6) {
            out.extend([text.to_owned(), format!("{text}x")]);
        }
    }
    for pattern in texts(hints, "pattern") {
        for sample in pattern_samples(pattern, None).into_iter().take(4) {
            out.extend([format!("{sample}!"), format!(" {sample}"), sample]);
        }
    }
    out
}

fn texts<'a>(parts: &[Part<'a>], keyword: &'static str) -> impl Iterator<Item = &'a str> {
    parts.iter().filter_map(move |p| p.get(keyword).and_then(Value::as_str))
}

/// A plain value of a well-known format.
fn format_sample(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "email" => "ada@example.com",
        "uri" | "url" | "uri-reference" => "https://example.com/",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "hostname" => "example.com",
        _ => return None,
    })
}

fn numbers(parts: &[Part<'_>], hints: &[Part<'_>], mask: u8) -> Vec<Number> {
    let mut bounds: Vec<&Number> = Vec::new();
    let mut steps: Vec<&Number> = Vec::new();
    for part in parts.iter().chain(hints) {
        for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
            bounds.extend(part.get(keyword).and_then(Value::as_number));
        }
        steps.extend(part.get("multipleOf").and_then(Value::as_number));
        let listed =
            part.get("enum").and_then(Value::as_array).into_iter().flatten().chain(part.get("const"));
        bounds.extend(listed.filter_map(Value::as_number).take(6));
    }
    let mut out: Vec<Number> = Vec::new();
    let whole =
        |n: i128| i64::try_from(n).map(Number::from).or_else(|_| u64::try_from(n).map(Number::from)).ok();
    for step in &steps {
        out.push((*step).clone());
        match json::integer(step) {
            Some(n) => out.extend([2, 3, 5, 7].iter().filter_map(|k| whole(n.checked_mul(*k)?))),
            None => {
                out.extend([2.0, 3.0, 5.0, 7.0].iter().filter_map(|k| Number::from_f64(step.as_f64()? * k)))
            }
        }
    }
    out.extend([1, 0, 2, -1, 3, 7, 10, 100, 1_000_000, -1_000_000].map(Number::from));
    for bound in bounds {
        match json::integer(bound) {
            Some(n) => out.extend([n, n - 1, n + 1].into_iter().filter_map(whole)),
            None => {
                out.push(bound.clone());
                let f = bound.as_f64().unwrap_or_default();
                out.extend([f.floor(), f.ceil()].into_iter().filter_map(|f| whole(f as i128)));
            }
        }
        // Multiples near a bound.
        for step in steps.iter().filter_map(|s| json::integer(s)).filter(|s| *s > 0) {
            if let Some(n) = json::integer(bound) {
                let down = n - n.rem_euclid(step);
                out.extend([down, down + step, down - step].into_iter().filter_map(whole));
            }
        }
        if mask & types::FRACTION != 0
            && let Some(f) = bound.as_f64()
        {
            out.extend([f + 0.5, f - 0.5].into_iter().filter_map(Number::from_f64));
        }
    }
    if mask & types::FRACTION != 0 {
        out.extend([0.5, -0.5, 1.5].into_iter().filter_map(Number::from_f64));
    }
    if mask & types::INTEGER == 0 {
        out.retain(|n| json::integer(n).is_none());
    }
    out
}

/// Strings that a pattern takes (it searches, so a sample of the pattern itself will do), about `length` long where one
/// is asked for. Empty where the pattern is beyond the parser (look-around, back-references).
fn pattern_samples(pattern: &str, length: Option<u64>) -> Vec<String> {
    let Ok(hir) = regex_syntax::Parser::new().parse(&pattern::translate(pattern)) else { return Vec::new() };
    let repeats: &[u64] = match length {
        // The number of repetitions that makes the wanted length is not known beforehand.
        Some(n) => &[n, n.saturating_sub(1), n / 2, n.saturating_sub(2)],
        None => &[0, 1, 2],
    };
    let mut out: Vec<String> = Vec::new();
    for pick in 0..4 {
        for repeat in repeats {
            let mut text = String::new();
            spell(&hir, pick, *repeat, &mut text);
            if text.len() as u64 <= limits::LONGEST && !out.contains(&text) {
                out.push(text);
            }
        }
    }
    out
}

/// One string of an expression: which alternative and which character by `pick`, how often by `repeat`.
fn spell(hir: &regex_syntax::hir::Hir, pick: usize, repeat: u64, out: &mut String) {
    use regex_syntax::hir::{Class, HirKind};
    if out.len() as u64 > limits::LONGEST {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(Class::Unicode(class)) => {
            let ranges: Vec<_> = class.ranges().iter().collect();
            if ranges.is_empty() {
                return;
            }
            let printable = ranges.iter().copied().find(|r| r.start().is_ascii_alphanumeric());
            let chosen = match pick {
                0 => printable.unwrap_or(ranges[0]).start(),
                1 => ranges[ranges.len() - 1].end(),
                2 => ranges[0].start(),
                _ => ranges[ranges.len() / 2].start(),
            };
            out.push(chosen);
        }
        HirKind::Class(Class::Bytes(class)) => {
            out.extend(class.ranges().first().map(|r| char::from(r.start())));
        }
        HirKind::Repetition(repetition) => {
            let least = u64::from(repetition.min);
            let times = repetition.max.map_or(least.max(repeat), |max| least.max(repeat.min(u64::from(max))));
            for _ in 0..times.min(limits::LONGEST) {
                spell(&repetition.sub, pick, repeat, out);
            }
        }
        HirKind::Capture(capture) => spell(&capture.sub, pick, repeat, out),
        HirKind::Concat(all) => all.iter().for_each(|h| spell(h, pick, repeat, out)),
        HirKind::Alternation(branches) => spell(&branches[pick % branches.len()], pick, repeat, out),
    }
}
