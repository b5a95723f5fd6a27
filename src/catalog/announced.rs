//! What a tool announces to go: itself, or some of its parameters; and whether that was long enough ago.
//!
//! JSON Schema has `deprecated` for a parameter (2019-09, validation, 9.3); MCP has nothing for a tool, so what authors
//! write is read: a `deprecated` in the tool, its `annotations` or its `_meta`, or a description that begins with the word.

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    diff::{Finding, Surface, ToolReport},
    json::Digest,
};

/// What was announced to go and since when: the places of each tool, by server (empty where nobody says) and tool.
pub type Announced = BTreeMap<(String, String), BTreeMap<String, NaiveDate>>;

/// That something goes, held against the days that are promised to whoever relies on it. Days are those of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The day on which it was announced.
    pub since: NaiveDate,
    /// How many days are promised.
    pub days: u32,
    /// The first day on which it may go.
    pub from: NaiveDate,
    /// Whether that day has come.
    pub over: bool,
}

impl Notice {
    /// What was announced on that day.
    fn of(since: NaiveDate, days: u32, today: NaiveDate) -> Option<Self> {
        let from = since.checked_add_days(Days::new(days.into()))?;
        Some(Self { since, days, from, over: from <= today })
    }

    /// In words.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { since, days, from, over } = self;
        let when = if *over { String::new() } else { format!(" from {from} on") };
        format!("announced on {since}, {days} days promised: it may go{when}")
    }
}

/// The notice that was given of a finding; none where no announcement covers it, or nobody announced it.
#[must_use]
pub fn notice(
    announced: &Announced,
    days: u32,
    (tool, finding): (&ToolReport, &Finding),
    today: NaiveDate,
) -> Option<Notice> {
    let place = covering(finding)?;
    let since = announced.get(&(tool.server.clone(), tool.tool.clone()))?.get(&place)?;
    Notice::of(*since, days, today)
}

/// The place whose announcement covers a finding, as a pointer into the tool: deprecate, then remove. Nothing else is covered,
/// and never what nobody may accept.
#[must_use]
pub fn covering(finding: &Finding) -> Option<String> {
    match (finding.rule.as_str(), finding.surface) {
        _ if finding.absolute => None,
        ("tool-removed", _) => Some(String::new()),
        ("property-removed", Surface::Input) => Some(format!("/inputSchema{}", finding.pointer)),
        ("property-removed", Surface::Output) => Some(format!("/outputSchema{}", finding.pointer)),
        _ => None,
    }
}

/// A change that would have blocked and was let through, because it was announced for as long as is promised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LetGo {
    /// The change.
    pub fingerprint: Digest,
    /// In words, for readers: `breaking: tool `a`: …`.
    pub change: String,
    /// The day on which it was announced.
    pub since: NaiveDate,
    /// How many days were promised.
    pub days: u32,
}

impl LetGo {
    /// One line.
    #[must_use]
    pub fn told(&self) -> String {
        format!("{} (announced on {}, {} days promised)", self.change, self.since, self.days)
    }
}

/// What one version says of a place that may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// That it goes.
    Goes,
    /// Nothing: it is there.
    Stays,
    /// It is not there.
    Gone,
    /// What the tool is, is not known. It is never taken for an announcement.
    Unknown,
}

impl Said {
    /// What a tool says of a place in it.
    #[must_use]
    pub fn of(tool: &Value, place: &str) -> Self {
        Self::among(tool, &places(tool), place)
    }

    /// The same, where the places that it announces are known.
    #[must_use]
    pub fn among(tool: &Value, announced: &[String], place: &str) -> Self {
        match tool.pointer(place) {
            None if is_behind(tool, place) => Self::Unknown,
            None => Self::Gone,
            Some(_) if announced.iter().any(|announced| announced == place) => Self::Goes,
            Some(_) => Self::Stays,
        }
    }
}

/// Whether a place that is not there to the letter may be there all the same: behind a reference, or in a part of a schema, which
/// a diff looks through.
fn is_behind(tool: &Value, place: &str) -> bool {
    const STEPS: [&str; 9] =
        ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"];
    let mut deepest = tool;
    let mut seen = Vec::new();
    for step in place.split('/').skip(1) {
        seen.push(deepest);
        match deepest.pointer(&format!("/{step}")) {
            Some(next) => deepest = next,
            None => break,
        }
    }
    seen.iter().any(|schema| STEPS.iter().any(|step| schema.get(step).is_some()))
}

/// Since when one announcement stands, found by going back through what there was. It stands in every version since: what
/// was taken back and announced again counts from the second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Since {
    /// Since when, as far as is known.
    pub at: Option<DateTime<Utc>>,
    /// Whether nothing that was before can change that.
    pub is_known: bool,
}

impl Since {
    /// Goes back to a version that came at that time. What is gone by now, may have been announced while it was there.
    pub fn before(&mut self, said: Said, at: DateTime<Utc>) {
        match said {
            _ if self.is_known => {}
            Said::Goes => self.at = Some(self.at.map_or(at, |known| known.min(at))),
            Said::Gone if self.at.is_none() => {}
            Said::Gone | Said::Stays | Said::Unknown => self.is_known = true,
        }
    }
}

/// The places, as pointers into the tool; the empty one is the tool itself.
#[must_use]
pub fn places(tool: &Value) -> Vec<String> {
    let mut places = Vec::new();
    let says = |at: Option<&Value>| {
        let members = at.and_then(Value::as_object).into_iter().flatten();
        members.into_iter().any(|(name, value)| is_deprecated(name) && is_said(value))
    };
    let beside = says(tool.get("annotations")) || says(tool.get("_meta"));
    if beside || tool.get("deprecated").is_some_and(is_said) || begins(tool.get("description")) {
        places.push(String::new());
    }
    for schema in ["inputSchema", "outputSchema"] {
        parameters(tool.get(schema), &format!("/{schema}"), &mut places, 0);
    }
    places
}

/// A parameter of a parameter of a parameter is announced as well; deeper nobody looks.
const DEPTH: usize = 8;

fn parameters(schema: Option<&Value>, at: &str, places: &mut Vec<String>, depth: usize) {
    let Some(properties) = schema.and_then(|s| s.get("properties")).and_then(Value::as_object) else {
        return;
    };
    if depth > DEPTH {
        return;
    }
    for (name, schema) in properties {
        let place = format!("{at}/properties/{}", name.replace('~', "~0").replace('/', "~1"));
        if schema.get("deprecated").is_some_and(is_said) || begins(schema.get("description")) {
            places.push(place.clone());
        }
        parameters(Some(schema), &place, places, depth + 1);
        parameters(schema.get("items"), &format!("{place}/items"), places, depth + 1);
    }
}

/// `deprecated`, or a name of somebody's own for it (`com.example/deprecated`).
fn is_deprecated(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case("deprecated"))
}

fn is_said(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

fn begins(description: Option<&Value>) -> bool {
    let Some(text) = description.and_then(Value::as_str) else { return false };
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
    word.eq_ignore_ascii_case("deprecated")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_announcement_counts_since_it_stands_in_every_version() {
        use Said::{Goes, Gone, Stays, Unknown};
        // What there was, the oldest first, one a day from the first of November on; and the day from which it counts.
        for (said, since) in [
            (&[][..], None),
            (&[Stays, Goes], Some(2)),
            (&[Stays, Goes, Goes, Goes], Some(2)),
            (&[Goes, Stays], None),
            (&[Goes, Stays, Goes, Goes], Some(3)),
            (&[Goes, Gone, Goes], Some(3)),
            // It is gone already, and somebody may still rely on what was before.
            (&[Stays, Goes, Goes, Gone, Gone], Some(2)),
            (&[Goes, Stays, Gone], None),
            (&[Goes, Unknown, Goes], Some(3)),
            (&[Goes, Unknown], None),
        ] {
            let at = |day: usize| format!("2026-11-{day:02}T12:00:00Z").parse().expect("a time");
            let mut found = Since::default();
            for (day, said) in said.iter().enumerate().rev() {
                found.before(*said, at(day + 1));
            }
            assert_eq!(found.at, since.map(at), "{said:?}");
        }
    }

    #[test]
    fn what_is_written_in_another_way_is_not_taken_for_gone() {
        let place = "/inputSchema/properties/address/properties/street";
        let street = json!({"type": "object", "properties": {"street": {"type": "string"}}});
        let gone = json!({"type": "object", "properties": {"zip": {}}});
        let deprecated = json!({"type": "object", "properties": {"street": {"deprecated": true}}});
        for (address, said) in [
            (street.clone(), Said::Stays),
            (deprecated, Said::Goes),
            (gone, Said::Gone),
            (json!({"$ref": "#/$defs/Address"}), Said::Unknown),
            (json!({"anyOf": [street.clone(), {"type": "null"}]}), Said::Unknown),
            (json!({"allOf": [street]}), Said::Unknown),
        ] {
            let tool =
                json!({"name": "t", "inputSchema": {"type": "object", "properties": {"address": address}}});
            assert_eq!(Said::of(&tool, place), said, "{tool}");
        }
        let tool = json!({"name": "t", "inputSchema": {"$ref": "#/$defs/T"}});
        assert_eq!(Said::of(&tool, "/inputSchema/properties/a"), Said::Unknown);
    }

    #[test]
    fn a_notice_is_over_on_the_day_after_the_last_that_is_promised() {
        let day = |text: &str| text.parse::<NaiveDate>().expect("a day");
        for (days, today, told) in [
            (90, "2026-10-29", "announced on 2026-08-01, 90 days promised: it may go from 2026-10-30 on"),
            (90, "2026-10-30", "announced on 2026-08-01, 90 days promised: it may go"),
            (0, "2026-08-01", "announced on 2026-08-01, 0 days promised: it may go"),
        ] {
            let notice = Notice::of(day("2026-08-01"), days, day(today)).expect("a day");
            assert_eq!(notice.told(), told, "{today}");
        }
        assert_eq!(Notice::of(NaiveDate::MAX, 1, NaiveDate::MAX), None);
    }

    #[test]
    fn what_goes_is_announced_in_a_few_ways() {
        for (tool, expected) in [
            (json!({"name": "a", "description": "Finds."}), &[][..]),
            (json!({"description": "[DEPRECATED] Use b."}), &[""]),
            (json!({"description": "**Deprecated:** use b."}), &[""]),
            (json!({"description": "Lists deprecated APIs."}), &[]),
            (json!({"_meta": {"com.example/deprecated": "2026-10-01"}}), &[""]),
            (json!({"annotations": {"deprecated": true}}), &[""]),
            (json!({"annotations": {"deprecated": false}, "deprecated": null}), &[]),
            (
                json!({"inputSchema": {"properties": {"a/b": {"deprecated": true}, "c": {}}}}),
                &["/inputSchema/properties/a~1b"],
            ),
            (
                json!({"inputSchema": {"properties": {"o": {"properties": {"p": {"description": "deprecated"}}}}}}),
                &["/inputSchema/properties/o/properties/p"],
            ),
        ] {
            assert_eq!(places(&tool), expected, "{tool}");
        }
    }
}
