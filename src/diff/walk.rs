//! Walks two schemas together and asks every rule at every place. What it finds explains; it decides nothing.

use std::{borrow::Cow, collections::BTreeSet};

use serde_json::{Map, Value};

use super::{
    change::{Change, Pair, Place, Step},
    effect::Effect,
    finding::{Formats, Surface},
    rules,
};
use crate::{
    contract::{normal_schema, references},
    json::{self, Pointer},
    schema::{self, types},
};

/// Places looked at in one pair of schemas. The largest real pair has about 2,000.
const MAX_PLACES: usize = 20_000;

/// Depth of places, references followed. Deeper changes are left to containment.
const MAX_DEPTH: usize = 32;

/// Every change between two schema documents.
#[must_use]
pub fn changes(surface: Surface, baseline: &Value, candidate: &Value, formats: Formats) -> Vec<Change> {
    let mut walk = Walk {
        surface,
        formats,
        roots: (baseline, candidate),
        same_roots: json::equal(baseline, candidate),
        met: Vec::new(),
        left: MAX_PLACES,
        out: Vec::new(),
    };
    walk.pair(baseline, candidate, &Pointer::root(), &Place::default());
    walk.out
}

struct Walk<'a> {
    surface: Surface,
    formats: Formats,
    roots: (&'a Value, &'a Value),
    /// A reference means the same on both sides.
    same_roots: bool,
    /// Pairs of reference targets on the way here: recursion ends where one is met again.
    met: Vec<(usize, usize)>,
    left: usize,
    out: Vec<Change>,
}

/// One side of a pair, made ready to compare.
struct View<'v> {
    keywords: Cow<'v, Map<String, Value>>,
    nullable: bool,
}

impl Walk<'_> {
    fn pair(&mut self, baseline: &Value, candidate: &Value, at: &Pointer, place: &Place) {
        if self.left == 0 || place.0.len() > MAX_DEPTH {
            return;
        }
        self.left -= 1;
        if json::equal(baseline, candidate) && (self.same_roots || references(baseline).is_empty()) {
            return;
        }
        let (b, c) = (follow(baseline, self.roots.0), follow(candidate, self.roots.1));
        let followed = !std::ptr::eq(b, baseline) || !std::ptr::eq(c, candidate);
        if followed {
            let key = (std::ptr::from_ref(b) as usize, std::ptr::from_ref(c) as usize);
            if self.met.contains(&key) {
                return;
            }
            self.met.push(key);
        }
        self.followed(b, c, at, place);
        if followed {
            self.met.pop();
        }
    }

    fn followed(&mut self, b: &Value, c: &Value, at: &Pointer, place: &Place) {
        let any = Map::new();
        let (Some(before), Some(after)) = (view(b, self.roots.0, &any), view(c, self.roots.1, &any)) else {
            // `false` on one side only.
            if b != c {
                let effect = if c == &Value::Bool(false) { Effect::Narrowed } else { Effect::Widened };
                let pair = Pair {
                    at: at.clone(),
                    place: place.clone(),
                    surface: self.surface,
                    baseline: &any,
                    candidate: &any,
                    types: (types::ALL, types::ALL),
                    nodes: (b, c),
                    roots: self.roots,
                    formats: self.formats,
                };
                let message = if effect == Effect::Narrowed {
                    format!("{} is no longer allowed", pair.subject())
                } else {
                    format!("{} is allowed now", pair.subject())
                };
                self.out.push(Change {
                    at: at.clone(),
                    baseline: Some(b.clone()),
                    candidate: Some(c.clone()),
                    ..pair.change("composition-changed", "not", effect, message)
                });
            }
            return;
        };
        let pair = Pair {
            at: at.clone(),
            place: place.clone(),
            surface: self.surface,
            baseline: &before.keywords,
            candidate: &after.keywords,
            types: (before.types(), after.types()),
            nodes: (b, c),
            roots: self.roots,
            formats: self.formats,
        };
        for rule in rules::all() {
            if let rules::Check::Schema(check) = rule.check {
                check(&pair, &mut self.out);
            }
        }
        self.children(&pair, at, place);
    }

    fn children(&mut self, pair: &Pair<'_>, at: &Pointer, place: &Place) {
        if let (Some(b), Some(c)) = (Pair::properties(pair.baseline), Pair::properties(pair.candidate)) {
            for (name, before) in b {
                if let Some(after) = c.get(name) {
                    let place = place.join(Step::Name(name.clone()));
                    self.pair(before, after, &at.join("properties").join(name), &place);
                }
            }
        }
        for keyword in ["additionalProperties", "items"] {
            if let (Some(b @ Value::Object(_)), Some(c @ Value::Object(_))) = pair.both(keyword) {
                self.pair(b, c, &at.join(keyword), &place.join(Step::Any));
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let (Some(Value::Array(b)), Some(Value::Array(c))) = pair.both(keyword) else { continue };
            if let Some((i, j)) = only_difference(b, c) {
                self.pair(&b[i], &c[j], &at.join(keyword).join(j), place);
            }
            // Written alike, and what it refers to may not be.
            for (i, (before, after)) in b.iter().zip(c).enumerate() {
                if !self.same_roots && json::equal(before, after) && !references(before).is_empty() {
                    self.pair(before, after, &at.join(keyword).join(i), place);
                }
            }
        }
    }
}

/// Where two lists of schemas have just one member each that the other has not: their positions.
#[must_use]
pub fn only_difference(b: &[Value], c: &[Value]) -> Option<(usize, usize)> {
    let (gone, come) = differences(b, c);
    match (gone.as_slice(), come.as_slice()) {
        ([i], [j]) => Some((*i, *j)),
        _ => None,
    }
}

/// The positions of the members that only one of two lists has, order and words aside.
#[must_use]
pub fn differences(b: &[Value], c: &[Value]) -> (Vec<usize>, Vec<usize>) {
    let (b, c): (Vec<Value>, Vec<Value>) =
        (b.iter().map(normal_schema).collect(), c.iter().map(normal_schema).collect());
    let mut taken = BTreeSet::new();
    let mut gone = Vec::new();
    for (i, before) in b.iter().enumerate() {
        match (0..c.len()).find(|j| !taken.contains(j) && json::equal(before, &c[*j])) {
            Some(j) => _ = taken.insert(j),
            None => gone.push(i),
        }
    }
    (gone, (0..c.len()).filter(|j| !taken.contains(j)).collect())
}

/// The schema behind a reference that stands alone, or behind a composition of one.
fn follow<'v>(schema: &'v Value, root: &'v Value) -> &'v Value {
    let mut schema = schema;
    // A chain of references longer than this leads in a circle.
    for _ in 0..32 {
        let Value::Object(map) = schema else { return schema };
        let mut asserting = map.iter().filter(|(k, _)| !says_nothing(k));
        let next = match (asserting.next(), asserting.next()) {
            (Some((key, Value::String(target))), None) if key == "$ref" => schema::resolve(root, target),
            (Some((key, Value::Array(one))), None)
                if matches!(key.as_str(), "allOf" | "anyOf" | "oneOf") && one.len() == 1 =>
            {
                one.first()
            }
            _ => None,
        };
        match next {
            Some(next) => schema = next,
            None => return schema,
        }
    }
    schema
}

fn says_nothing(keyword: &str) -> bool {
    crate::contract::WORDS.contains(&keyword)
        || matches!(
            keyword,
            "$schema" | "$id" | "$defs" | "definitions" | "deprecated" | "readOnly" | "writeOnly"
        )
}

/// Takes `null` out of a union of two and writes `const` as `enum`; nothing for `false`.
fn view<'v>(schema: &'v Value, root: &'v Value, any: &'v Map<String, Value>) -> Option<View<'v>> {
    let keywords = match schema {
        Value::Bool(false) => return None,
        Value::Object(map) => map,
        Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => any,
    };
    let is_null = |s: &Value| {
        s.get("type") == Some(&Value::String("null".into())) || s.get("const") == Some(&Value::Null)
    };
    for union in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = keywords.get(union) else { continue };
        let beside = keywords.keys().any(|k| k != union && !says_nothing(k) && k != "default");
        let (null, rest): (Vec<&Value>, Vec<&Value>) = branches.iter().partition(|b| is_null(b));
        if beside || null.len() != 1 {
            continue;
        }
        let mut merged = match rest.as_slice() {
            [one] => match follow(one, root) {
                Value::Object(map) => map.clone(),
                _ => continue,
            },
            // Several besides: the union stays, without the null.
            rest => {
                let mut merged = Map::new();
                merged.insert(union.to_owned(), Value::Array(rest.iter().map(|s| (*s).clone()).collect()));
                merged
            }
        };
        if let Some(default) = keywords.get("default") {
            merged.insert("default".to_owned(), default.clone());
        }
        return Some(View { keywords: Cow::Owned(listed(merged)), nullable: true });
    }
    let keywords = if keywords.contains_key("const") {
        Cow::Owned(listed(keywords.clone()))
    } else {
        Cow::Borrowed(keywords)
    };
    Some(View { keywords, nullable: false })
}

fn listed(mut keywords: Map<String, Value>) -> Map<String, Value> {
    if let (Some(value), false) = (keywords.get("const").cloned(), keywords.contains_key("enum")) {
        keywords.shift_remove("const");
        keywords.insert("enum".to_owned(), Value::Array(vec![value]));
    }
    keywords
}

impl View<'_> {
    fn types(&self) -> u8 {
        let own = match (self.keywords.get("type"), self.keywords.get("enum")) {
            (Some(named), _) => schema::named_types(named),
            // A list of values says its types by itself.
            (None, Some(Value::Array(values))) => values.iter().map(schema::type_of).fold(0, |a, b| a | b),
            _ => types::ALL,
        };
        own | if self.nullable { types::NULL } else { 0 }
    }
}
