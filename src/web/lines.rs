//! Two JSON values side by side, line by line, with what is the same folded.

use std::time::Duration;

use serde_json::Value;
use similar::{DiffOp, TextDiff};

use super::text;

/// A value made to be slow to compare costs a page no more than this; what is left is then shown as replaced.
const TIME: Duration = Duration::from_millis(20);
/// More lines than anybody reads; the API has them all.
const LINES: usize = 600;
/// Lines of what is the same, around each difference.
const AROUND: usize = 4;

/// Both sides.
pub(super) struct Lines {
    pub(super) rows: Vec<Row>,
    /// How many rows there are beyond these.
    pub(super) left_out: usize,
}

/// One line.
pub(super) enum Row {
    /// The same on both sides.
    Same(String),
    /// Lines that are the same and not shown.
    Folded(usize),
    /// Before, now, or both.
    Changed(Option<String>, Option<String>),
}

impl Lines {
    /// Compares two values; one that is absent has no lines.
    pub(super) fn of(before: Option<&Value>, now: Option<&Value>) -> Self {
        let side = |value: Option<&Value>| value.map(text::pretty).unwrap_or_default();
        let (before, now) = (side(before), side(now));
        let diff = TextDiff::configure().timeout(TIME).diff_lines(&before, &now);
        let (was, is): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
        let line = |side: &[&str], at: usize| side.get(at).map(|line| text::html(line, text::JSON));
        let mut rows = Vec::new();
        let ops = diff.ops();
        for (place, op) in ops.iter().enumerate() {
            if let DiffOp::Equal { old_index, len, .. } = *op {
                let head = if place == 0 { 0 } else { AROUND };
                let tail = if place + 1 == ops.len() { 0 } else { AROUND };
                let same = |range: std::ops::Range<usize>| {
                    range.filter_map(|at| line(&was, old_index + at)).map(Row::Same)
                };
                if len <= head + tail + 1 {
                    rows.extend(same(0..len));
                } else {
                    rows.extend(same(0..head));
                    rows.push(Row::Folded(len - head - tail));
                    rows.extend(same(len - tail..len));
                }
            } else {
                let (old, new) = (op.old_range(), op.new_range());
                for at in 0..old.len().max(new.len()) {
                    let left = (at < old.len()).then(|| line(&was, old.start + at)).flatten();
                    let right = (at < new.len()).then(|| line(&is, new.start + at)).flatten();
                    rows.push(Row::Changed(left, right));
                }
            }
        }
        let left_out = rows.len().saturating_sub(LINES);
        rows.truncate(LINES);
        Self { rows, left_out }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_stands_side_by_side_and_the_rest_is_folded() {
        let object = |changed: &str| {
            let mut members: serde_json::Map<String, Value> =
                (0..20).map(|i| (format!("member_{i}"), json!("as it was"))).collect();
            members.insert("member_10".to_owned(), json!(changed));
            Value::Object(members)
        };
        let told = |lines: &Lines| {
            let row = |row: &Row| match row {
                Row::Same(_) => "=".to_owned(),
                Row::Folded(count) => format!("{count}"),
                Row::Changed(before, now) => {
                    format!(
                        "{}{}",
                        if before.is_some() { "-" } else { "" },
                        if now.is_some() { "+" } else { "" }
                    )
                }
            };
            lines.rows.iter().map(row).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(&Lines::of(Some(&object("a")), Some(&object("b")))), "7 = = = = -+ = = = = 6");
        assert_eq!(told(&Lines::of(None, Some(&json!({"a": "<b>"})))), "+");
        assert_eq!(told(&Lines::of(Some(&json!(1)), Some(&json!(1)))), "=");
    }
}
