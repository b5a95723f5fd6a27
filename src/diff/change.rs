//! A neutral difference at one place of two schemas, and the pair of schemas that a rule looks at.

use serde_json::{Map, Value};

use super::{
    effect::Effect,
    finding::{Formats, Surface},
};
use crate::{
    json::{self, Pointer},
    schema::{self, types},
};

/// A step into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A property.
    Name(String),
    /// Some item, or some property whose name is not fixed.
    Any,
}

/// Where in the value a schema speaks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place(pub Vec<Step>);

impl Place {
    /// One step further.
    #[must_use]
    pub fn join(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Whether a pointer into a value is this place.
    #[must_use]
    pub fn is(&self, at: &Pointer) -> bool {
        let steps: Vec<String> = at.steps().collect();
        steps.len() == self.0.len() && self.starts_with(&steps)
    }

    /// Whether a pointer into a value leads to this place or to one around it.
    #[must_use]
    pub fn is_below(&self, at: &Pointer) -> bool {
        let steps: Vec<String> = at.steps().collect();
        steps.len() <= self.0.len() && self.starts_with(&steps)
    }

    /// Whether a pointer into a value leads to this place or to one inside it.
    #[must_use]
    pub fn is_above(&self, at: &Pointer) -> bool {
        let steps: Vec<String> = at.steps().take(self.0.len()).collect();
        steps.len() == self.0.len() && self.starts_with(&steps)
    }

    fn starts_with(&self, steps: &[String]) -> bool {
        self.0.iter().zip(steps).all(|(mine, step)| match mine {
            Step::Name(name) => name == step,
            Step::Any => true,
        })
    }
}

/// Two schemas for the same place, references followed and `null` taken out of unions.
pub struct Pair<'a> {
    /// Where the change is to be reported: a pointer into the schema document.
    pub at: Pointer,
    /// Where in the value.
    pub place: Place,
    /// Which schema document.
    pub surface: Surface,
    /// The baseline's keywords.
    pub baseline: &'a Map<String, Value>,
    /// The candidate's keywords.
    pub candidate: &'a Map<String, Value>,
    /// The types each side takes, `null` from a union included.
    pub types: (u8, u8),
    /// The two schemas as they stand, to be asked about by themselves.
    pub nodes: (&'a Value, &'a Value),
    /// Their documents.
    pub roots: (&'a Value, &'a Value),
    /// What a `format` is taken for.
    pub formats: Formats,
}

/// What a rule saw.
#[derive(Debug, Clone)]
pub struct Change {
    /// The rule.
    pub rule: &'static str,
    /// Where in the schema document.
    pub at: Pointer,
    /// Where in the value.
    pub place: Place,
    /// The keyword by which a validator would object.
    pub keyword: &'static str,
    /// What it does to the set of values.
    pub effect: Effect,
    /// The same, counting only values whose properties the baseline declares.
    pub declared: Effect,
    /// What callers send is no longer looked at.
    pub ignored: bool,
    /// And they had to send it.
    pub needed: bool,
    /// The property's name, where the objection of a validator has to name it.
    pub name: Option<String>,
    /// Before.
    pub baseline: Option<Value>,
    /// After.
    pub candidate: Option<Value>,
    /// One sentence.
    pub message: String,
    /// The two schemas of this place.
    pub nodes: (Value, Value),
}

impl<'a> Pair<'a> {
    /// A change at a keyword of this pair.
    #[must_use]
    pub fn change(
        &self,
        rule: &'static str,
        keyword: &'static str,
        effect: Effect,
        message: String,
    ) -> Change {
        Change {
            rule,
            at: self.at.join(keyword),
            place: self.place.clone(),
            keyword,
            effect,
            declared: effect,
            ignored: false,
            needed: false,
            name: None,
            baseline: self.baseline.get(keyword).cloned(),
            candidate: self.candidate.get(keyword).cloned(),
            message,
            nodes: (self.nodes.0.clone(), self.nodes.1.clone()),
        }
    }

    /// A keyword on both sides.
    #[must_use]
    pub fn both(&self, keyword: &str) -> (Option<&'a Value>, Option<&'a Value>) {
        (self.baseline.get(keyword), self.candidate.get(keyword))
    }

    /// Whether a keyword says the same on both sides.
    #[must_use]
    pub fn same(&self, keyword: &str) -> bool {
        match self.both(keyword) {
            (None, None) => true,
            (Some(a), Some(b)) => json::equal(a, b),
            _ => false,
        }
    }

    /// Whether the dialect of either side makes anything of a keyword.
    #[must_use]
    pub fn asserts(&self, keyword: &str) -> bool {
        schema::asserts(self.roots.0, keyword) || schema::asserts(self.roots.1, keyword)
    }

    /// A side's properties.
    #[must_use]
    pub fn properties(side: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
        side.get("properties").and_then(Value::as_object)
    }

    /// Whether a side names a property as required.
    #[must_use]
    pub fn requires(side: &Map<String, Value>, name: &str) -> bool {
        side.get("required").and_then(Value::as_array).is_some_and(|r| r.iter().any(|n| n == name))
    }

    /// Whether a side forbids what it does not declare.
    #[must_use]
    pub fn is_closed(side: &Map<String, Value>) -> bool {
        [side.get("additionalProperties"), side.get("unevaluatedProperties")]
            .contains(&Some(&Value::Bool(false)))
    }

    /// Whether a side declares any property.
    #[must_use]
    pub fn declares(side: &Map<String, Value>) -> bool {
        ["properties", "patternProperties"]
            .iter()
            .any(|k| side.get(*k).and_then(Value::as_object).is_some_and(|m| !m.is_empty()))
    }

    /// How a reader knows this place: ``parameter `filter.state` ``, `the arguments`.
    #[must_use]
    pub fn subject(&self) -> String {
        let (whole, part) = match self.surface {
            Surface::Output => ("the result", "result field"),
            _ => ("the arguments", "parameter"),
        };
        if self.place.0.is_empty() { whole.to_owned() } else { format!("{part} `{}`", path(&self.place)) }
    }

    /// The same for a property of this place.
    #[must_use]
    pub fn subject_of(&self, name: &str) -> String {
        let part = if self.surface == Surface::Output { "result field" } else { "parameter" };
        format!("{part} `{}`", path(&self.place.join(Step::Name(name.to_owned()))))
    }
}

/// `filter.items[].qty`.
fn path(place: &Place) -> String {
    let mut out = String::new();
    for step in &place.0 {
        match step {
            Step::Any => out.push_str("[]"),
            Step::Name(name) if out.is_empty() => out.push_str(name),
            Step::Name(name) => {
                out.push('.');
                out.push_str(name);
            }
        }
    }
    out
}

/// A value for a sentence: compact, at most 60 characters.
#[must_use]
pub fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Several values for a sentence.
#[must_use]
pub fn brief_list<'v>(values: impl IntoIterator<Item = &'v Value>) -> String {
    let all: Vec<String> = values.into_iter().map(brief).collect();
    match all.len() {
        0..=5 => all.join(", "),
        n => format!("{} and {} more", all[..4].join(", "), n - 4),
    }
}

/// The names of a set of types.
#[must_use]
pub fn type_names(mask: u8) -> String {
    if mask == types::ALL {
        return "anything".to_owned();
    }
    let names = type_list(mask);
    if names.is_empty() { "nothing".to_owned() } else { names.join(" or ") }
}

/// The same, as `type` would list them.
#[must_use]
pub fn type_list(mask: u8) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (bits, name) in [
        (types::STRING, "string"),
        (types::NUMBER, "number"),
        (types::INTEGER, "integer"),
        (types::BOOLEAN, "boolean"),
        (types::OBJECT, "object"),
        (types::ARRAY, "array"),
        (types::NULL, "null"),
    ] {
        let implied = bits == types::INTEGER && mask & types::FRACTION != 0;
        if mask & bits == bits && !implied {
            names.push(name);
        }
    }
    names
}
