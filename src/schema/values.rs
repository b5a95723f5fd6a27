//! Scalars worth trying for a conjunction: what its authors give, what stands at a bound or just beyond it, what a
//! pattern spells, and what the other side lists.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use serde_json::{Number, Value};

use super::{
    dialect::WRITTEN_WHOLE,
    ecma,
    facts::{self, Part, types},
    hints::fits,
    limits,
    text::{self, Difference, Outer},
};
use crate::json;

/// Values the authors themselves give.
pub(super) fn given<'a>(parts: &[Part<'a>]) -> impl Iterator<Item = &'a Value> {
    parts.iter().flat_map(|part| {
        let examples = part.get("examples").and_then(Value::as_array).into_iter().flatten();
        examples.chain(part.get("example")).chain(part.get("default")).take(6)
    })
}

/// `rejects` says whether the other side is seen to reject a value.
pub(super) fn strings(
    parts: &[Part<'_>],
    hints: &[Part<'_>],
    rejects: &dyn Fn(&Value) -> bool,
) -> Vec<String> {
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
        let pattern = Pattern::read(pattern);
        out.extend(pattern.samples(None));
        for n in lengths.iter().take(8) {
            out.extend(pattern.samples(Some(*n)).into_iter().take(3));
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
        for sample in Pattern::read(pattern).samples(None).into_iter().take(4) {
            out.extend([format!("{sample}!"), format!(" {sample}"), sample]);
        }
    }
    // Automata find what there is to find, and cost more than all this.
    let told = |text: &String| {
        let value = Value::String(text.clone());
        fits(parts, &value) && rejects(&value)
    };
    if (text::speaks(parts) || text::speaks(hints)) && !out.iter().any(told) {
        for hint in hints.iter().take(2) {
            if let Some(Difference::Text(text)) = text::difference(parts, Some(Outer::Schemas(&[hint.node])))
            {
                out.push(text);
            }
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

pub(super) fn numbers(parts: &[Part<'_>], hints: &[Part<'_>], mask: u8) -> Vec<Number> {
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
    // Between two bounds that lie close together.
    if let (Some((low, _)), Some((high, _))) = (facts::lower(parts), facts::upper(parts))
        && mask & types::FRACTION != 0
    {
        let middle = low.as_f64().zip(high.as_f64()).and_then(|(a, b)| Number::from_f64(a.midpoint(b)));
        out.extend(middle);
    }
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
    if hints.iter().any(|p| p.get(WRITTEN_WHOLE).is_some()) {
        out.extend(Number::from_f64(1.0));
    }
    if mask & types::INTEGER == 0 {
        out.retain(|n| json::integer(n).is_none());
    }
    out
}

/// A pattern to spell strings from; nothing where it is beyond the parser (look-around, back-references).
pub(super) struct Pattern(Option<regex_syntax::hir::Hir>);

/// Patterns kept parsed: those of one tool.
const PARSED: usize = 256;

impl Pattern {
    pub(super) fn read(pattern: &str) -> Rc<Self> {
        thread_local! {
            // One pattern stands at many places, and each is looked at several times.
            static KNOWN: RefCell<HashMap<String, Rc<Pattern>>> = RefCell::default();
        }
        KNOWN.with_borrow_mut(|known| {
            if let Some(read) = known.get(pattern) {
                return read.clone();
            }
            if known.len() >= PARSED {
                known.clear();
            }
            let parsed = ecma::translate(pattern).and_then(|p| regex_syntax::Parser::new().parse(&p).ok());
            let read = Rc::new(Self(parsed));
            known.insert(pattern.to_owned(), read.clone());
            read
        })
    }

    /// Strings that it takes (it searches, so a sample of the pattern itself will do), about `length` long where one is
    /// asked for.
    pub(super) fn samples(&self, length: Option<u64>) -> Vec<String> {
        let Some(hir) = &self.0 else { return Vec::new() };
        let repeats: &[u64] = match length {
            // The number of repetitions that makes the wanted length is not known beforehand.
            Some(n) => &[n, n.saturating_sub(1), n / 2, n.saturating_sub(2)],
            None => &[0, 1, 2],
        };
        let mut out: Vec<String> = Vec::new();
        for pick in 0..4 {
            for repeat in repeats {
                let mut text = String::new();
                spell(hir, pick, *repeat, &mut text);
                if text.len() as u64 <= limits::LONGEST && !out.contains(&text) {
                    out.push(text);
                }
            }
        }
        out
    }
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
