//! Builds values of one schema that another is likely to reject.
//!
//! Heuristic from end to end: whatever comes out is only a candidate, and validators decide ([`super::witness`]). The
//! *hints* are the schemas of the other side for the same place: their bounds, names and values say where to look.

use serde_json::{Map, Value, json};

use super::{
    FastSet,
    facts::{self, Flat, Node, Part, types},
    hints::{Hints, alike, fits, spread},
    limits,
    values::{Pattern, given, numbers, strings},
};

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
pub fn candidates<'a>(inner: Node<'a>, hint: Node<'a>, most: usize) -> Vec<Candidate> {
    let mut sampler = Sampler { left: 4 * limits::SEARCH_VALUES, places: limits::SEARCH_PLACES };
    sampler.sample(&[inner], &[vec![hint]], 0, most)
}

/// Values of one property that seem to leave the other side and are tried before all else.
const TOLD_FIRST: usize = 8;

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
        ways: &[Vec<Node<'a>>],
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
        if let Some(cases) = cases(inner, &parts, ways) {
            let most_each = (most / cases.len().max(1)).max(3);
            let all = cases.iter().map(|case| self.sample(case, ways, depth, most_each)).collect();
            return alternate(all, most);
        }
        let hints = Hints::of(ways);
        let mask = facts::types_of(&parts, 3);
        let mut values = Vec::new();
        if let Some(listed) = facts::finite(&parts) {
            values.extend(listed.into_iter().take(most).cloned().map(plain));
        } else {
            values.extend(given(&parts).cloned().map(plain));
            if mask & types::STRING != 0 {
                let texts = strings(&parts, &hints.parts, &|value| hints.reject(value));
                values.extend(texts.into_iter().map(|s| plain(Value::String(s))));
            }
            if mask & types::NUMBER != 0 {
                values
                    .extend(numbers(&parts, &hints.parts, mask).into_iter().map(|n| plain(Value::Number(n))));
            }
            if mask & types::BOOLEAN != 0 {
                values.extend([true, false].map(|b| plain(Value::Bool(b))));
            }
            // Where neither side speaks of members or items, there is nothing to look for in them.
            if mask & types::OBJECT != 0 {
                if speaks(&parts, types::OBJECT) || speaks(&hints.parts, types::OBJECT) {
                    values.extend(self.objects(&parts, &hints, depth, most));
                } else {
                    values.extend([json!({}), json!({"a": 1})].map(plain));
                }
            }
            if mask & types::ARRAY != 0 {
                if speaks(&parts, types::ARRAY) || speaks(&hints.parts, types::ARRAY) {
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
        hints: &Hints<'a>,
        depth: usize,
        most: usize,
    ) -> Vec<Candidate> {
        let open = !facts::undeclared(parts).iter().any(|n| n.schema == &Value::Bool(false));
        let mut names = facts::declared(parts);
        let mut known: FastSet<&str> = names.iter().copied().collect();
        let more =
            facts::required(parts).chain(if open { facts::declared(&hints.parts) } else { Vec::new() });
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
            let wanted = hints.property(name);
            let required = facts::requires(parts, name);
            // What both sides say in the same words tells nothing.
            let same = alike(&met, &wanted);
            if !required && (depth >= 8 && (same || optional > 4) || same && optional > limits::ALIKE) {
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
            out.extend(values.iter().filter(|c| c.telling).take(TOLD_FIRST).map(|c| with(&base, name, c)));
        }
        let first_tells = |(_, values): &(&str, Vec<Candidate>)| values.first().is_some_and(|c| c.telling);
        let telling = choices.iter().any(first_tells);
        out.push(Candidate { value: Value::Object(full.clone()), telling });
        // One change at a time, every property once before any property twice. The first values of all are in what stands
        // there already.
        for round in 0..most_each {
            let mut more = false;
            for (name, values) in &choices {
                if out.len() > 2 * most {
                    break;
                }
                let Some(candidate) = values.get(round) else { continue };
                more = true;
                let told = || values[..round].iter().filter(|c| c.telling).count() < TOLD_FIRST;
                let is_base = round == 0 && base.contains_key(*name);
                if !(is_base || candidate.telling && told()) {
                    out.push(with(&base, name, candidate));
                }
                if out.len() < most && (1..3).contains(&round) && candidate.telling {
                    out.push(with(&full, name, candidate));
                }
            }
            if !more || out.len() > 2 * most {
                break;
            }
        }
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
            let wanted = hints.undeclared();
            let key = ["extra", "other", "undeclared_property"].into_iter().find(|k| !full.contains_key(*k));
            // Names that the other side does not take.
            let unlike = hints.parts.iter().filter_map(|p| p.sub("propertyNames")).flat_map(|names| {
                let names = spread(&[names]);
                strings(&[], &names, &|value| !fits(&names, value))
                    .into_iter()
                    .filter(move |s| !fits(&names, &Value::String(s.clone())))
                    .take(4)
            });
            for key in unlike.filter(|k| !full.contains_key(k)).collect::<Vec<_>>() {
                out.extend(self.sample(&met, &wanted, depth + 1, 1).iter().map(|c| with(&base, &key, c)));
            }
            for candidate in self.sample(&met, &wanted, depth + 1, 4) {
                out.extend(key.map(|key| with(&base, key, &candidate)));
            }
        }
        // Enough of them to cross a bound on their number.
        if let Some(most) = facts::count(&hints.parts, "maxProperties").filter(|n| *n < 64) {
            let mut many = full.clone();
            for key in new_names(parts, most as usize + 1) {
                let met = facts::property(parts, &key).unwrap_or_default();
                for candidate in self.sample(&met, &[], depth + 1, 1) {
                    many.entry(key.clone()).or_insert(candidate.value);
                }
            }
            out.push(plain(Value::Object(many)));
        }
        let more: &[Part<'a>] = if open { &hints.parts } else { &[] };
        for part in parts.iter().chain(more) {
            for (pattern, _) in part.map("patternProperties") {
                for key in Pattern::read(pattern).samples(None).into_iter().take(3) {
                    let met = facts::property(parts, &key).unwrap_or_default();
                    let wanted = hints.property(&key);
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
        hints: &Hints<'a>,
        depth: usize,
        most: usize,
    ) -> Vec<Candidate> {
        let least = facts::count(parts, "minItems").unwrap_or(0).min(limits::LONGEST) as usize;
        let unique = parts.iter().any(|p| p.get("uniqueItems") == Some(&Value::Bool(true)));
        let prefix = facts::prefix(parts).max(facts::prefix(&hints.parts)).min(16);
        let most_each = match depth {
            0 | 1 => 24,
            2 => 12,
            _ => 6,
        };
        let columns: Vec<Vec<Candidate>> = (0..=prefix)
            .map(|i| self.sample(&facts::item(parts, i), &hints.item(i), depth + 1, most_each.min(most)))
            .collect();
        let Some(rest) = columns.last() else { return Vec::new() };
        // An array of this length, every item as plain as can be.
        let of_length = |n: usize| -> Option<Vec<Value>> {
            // Lengths inside lengths multiply.
            let size = rest.first().map_or(1, |c| limits::nodes(&c.value));
            if n.saturating_mul(size) > limits::VALUE_NODES {
                return None;
            }
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
        for (side, keyword) in
            [(hints.parts.as_slice(), "maxItems"), (&hints.parts, "minItems"), (parts, "maxItems")]
        {
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
        let repeated = |value: &Value, n: usize| {
            let fits = n.saturating_mul(limits::nodes(value)) <= limits::VALUE_NODES;
            fits.then(|| plain(Value::Array(vec![value.clone(); n])))
        };
        if let (Some(first), false) = (rest.first(), unique) {
            out.extend(repeated(&first.value, least.max(2)));
        }
        // Items of two types side by side.
        if let Some(first) = rest.first()
            && let Some(other) =
                rest.iter().find(|c| facts::type_of(&c.value) != facts::type_of(&first.value))
            && let Some(mut items) = of_length(least.max(prefix + 2))
            && let [.., a, b] = items.as_mut_slice()
        {
            (*a, *b) = (first.value.clone(), other.value.clone());
            out.push(plain(Value::Array(items)));
        }
        // What a `contains` of either side asks for.
        for part in parts.iter().chain(&hints.parts) {
            if let Some(wanted) = part.sub("contains") {
                let most = part.get("maxContains").and_then(facts::as_count).filter(|n| *n < 64);
                for candidate in self.sample(&[wanted], &[], depth + 1, 3) {
                    let mut items = of_length(least).unwrap_or_default();
                    items.push(candidate.value.clone());
                    out.push(plain(Value::Array(items)));
                    let counts = most.map_or([1, 2], |n| [n as usize, n as usize + 1]);
                    out.extend(counts.iter().filter_map(|n| repeated(&candidate.value, (*n).max(least))));
                }
            }
        }
        out
    }
}

/// Names for so many more properties, where the schemas leave room for them.
fn new_names(parts: &[Part<'_>], count: usize) -> Vec<String> {
    let mut patterns: Vec<&str> =
        parts.iter().flat_map(|p| p.map("patternProperties").map(|(pattern, _)| pattern.as_str())).collect();
    let names: Vec<Part<'_>> =
        spread(&parts.iter().filter_map(|p| p.sub("propertyNames")).collect::<Vec<_>>());
    patterns.extend(names.iter().filter_map(|p| p.get("pattern").and_then(Value::as_str)));
    if patterns.is_empty() {
        return (0..count).map(|i| format!("key{i}")).collect();
    }
    let mut out: Vec<String> = Vec::new();
    for length in 0..=count as u64 {
        out.extend(patterns.iter().flat_map(|p| Pattern::read(p).samples(Some(length))));
    }
    // Many a pattern takes any ending.
    let longer = |name: &String| (0..=count).map(|i| format!("{name}{i}")).collect::<Vec<_>>();
    out.extend(out.iter().take(2).flat_map(longer).collect::<Vec<_>>());
    let closed = |name: &str| match facts::property(parts, name) {
        Some(met) => met.iter().any(|n| n.schema == &Value::Bool(false)),
        None => true,
    };
    out.retain(|name| !closed(name) && fits(&names, &Value::String(name.clone())));
    out.sort_unstable_by_key(|name| (name.len(), name.clone()));
    out.dedup();
    out.truncate(2 * count);
    out
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
        types::STRING => {
            let patterns = parts.iter().filter_map(|p| p.get("pattern").and_then(Value::as_str));
            let spelt = patterns.flat_map(|p| Pattern::read(p).samples(None)).map(Value::String);
            return [json!("a")].into_iter().chain(spelt).find(|value| fits(parts, value));
        }
        types::INTEGER | types::NUMBER => json!(1),
        types::BOOLEAN => json!(true),
        types::ARRAY => json!([]),
        types::OBJECT => json!({}),
        _ => return None,
    };
    fits(parts, &value).then_some(value)
}

/// Whether any keyword says something of this type in particular.
fn speaks(parts: &[Part<'_>], of: u8) -> bool {
    parts.iter().any(|p| p.keywords.keys().any(|k| facts::applies_to(k).is_some_and(|types| types & of != 0)))
}

fn plain(value: Value) -> Candidate {
    Candidate { value, telling: false }
}

/// Takes every value.
static ANYTHING: Value = Value::Bool(true);

/// The cases of the first union that is not decided yet; those that the other side does not have come first.
fn cases<'a>(inner: &[Node<'a>], parts: &[Part<'a>], ways: &[Vec<Node<'a>>]) -> Option<Vec<Vec<Node<'a>>>> {
    let chosen = |node: &Node<'_>| inner.iter().any(|n| n.id() == node.id());
    let with = |more: &[Node<'a>]| inner.iter().chain(more).copied().collect::<Vec<_>>();
    for part in parts {
        for union in ["anyOf", "oneOf"] {
            let mut branches: Vec<_> = part.list(union).collect();
            if branches.len() > limits::CASES {
                let others: FastSet<String> = spread(&ways.concat())
                    .iter()
                    .flat_map(|p| p.list(union))
                    .map(|b| b.schema.to_string())
                    .collect();
                branches.sort_by_cached_key(|b| others.contains(&b.schema.to_string()));
                branches.truncate(limits::CASES);
            }
            if !branches.is_empty() && !branches.iter().any(&chosen) {
                return Some(branches.iter().map(|b| with(&[*b])).collect());
            }
        }
        let (then, otherwise) = (part.sub("then"), part.sub("else"));
        if let Some(condition) = part.sub("if")
            && !chosen(&condition)
            && !inner
                .iter()
                .any(|n| std::ptr::eq(n.schema, &ANYTHING) && std::ptr::eq(n.root, condition.schema))
            && !then.iter().chain(&otherwise).any(&chosen)
            && (then.is_some() || otherwise.is_some())
        {
            let mut cases = Vec::new();
            let mut yes = vec![condition];
            yes.extend(then);
            cases.push(with(&yes));
            cases.extend(otherwise.map(|o| with(&[o])));
            // The condition does not hold and nothing follows from that. What takes every value stands for it, in
            // the document of the condition, so that the case is known to be chosen.
            if otherwise.is_none() {
                cases.push(with(&[Node { schema: &ANYTHING, root: condition.schema }]));
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

/// The plainest first (good on both sides), then what the other side seems to reject, then the rest; each value once.
fn order(values: Vec<Candidate>, hints: &Hints<'_>, most: usize) -> Vec<Candidate> {
    let (mut telling, mut rest): (Vec<Candidate>, Vec<Candidate>) = (Vec::new(), Vec::new());
    for mut candidate in values {
        candidate.telling |= hints.reject(&candidate.value);
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
