//! What the model reads to choose the tool changed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Check, Remark, Rule, Tools};
use crate::{
    contract::words,
    diff::finding::{Level, Surface},
    json::Pointer,
};

pub(super) const RULE: Rule = Rule {
    id: "description-changed",
    surfaces: &[Surface::Presentation],
    what: "A description, of the tool or of a parameter, changed.",
    why: "It is never proved either way: the words drive the model's choice. It is risky where the new words instruct \
          the model, conceal something, or send it elsewhere.",
    instead: "Describe what the tool does, not what the model should do.",
    cases: include_str!("description_changed.yaml"),
    check: Check::Tool(check),
};

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    let (before, after) = (tools.baseline.description(), tools.candidate.description());
    if before != after {
        out.push(remark("/description", "the description", before, after));
    }
    for key in ["inputSchema", "outputSchema"] {
        let texts = |contract: &crate::contract::Contract| {
            let mut found = Vec::new();
            if let Some(schema) = contract.tool().get(key) {
                words(schema, &Pointer::root().join(key), &mut |at, value| {
                    found.push((at.as_str().to_owned(), value.clone()));
                });
            }
            found
        };
        let (before, after) = (texts(tools.baseline), texts(tools.candidate));
        let text = |side: &[(String, Value)], at: &str| side.iter().find(|(a, _)| a == at).map(|(_, v)| v.clone());
        let mut changed: Vec<(String, Option<Value>, Option<Value>)> = Vec::new();
        for at in before.iter().chain(&after).map(|(at, _)| at.clone()).collect::<BTreeSet<_>>() {
            let (was, is) = (text(&before, &at), text(&after, &at));
            // Words of what came or went as a whole are told with it, unless they speak to the model.
            let speaks = || {
                let stood = at.rsplit_once('/').is_some_and(|(of, _)| tools.baseline.tool().pointer(of).is_some());
                let found = cues(None, is.as_ref().and_then(Value::as_str));
                // What is new may well name an address or a key that it takes.
                found.iter().any(|cue| stood || *cue != ELSEWHERE)
            };
            if was != is && is.is_some() && (was.is_some() || speaks()) {
                changed.push((at, was, is));
            }
        }
        // What gives cues is told one by one, the rest in one line.
        let (risky, rest): (Vec<_>, Vec<_>) = changed.into_iter().partition(|(_, was, is)| {
            !cues(was.as_ref().and_then(Value::as_str), is.as_ref().and_then(Value::as_str)).is_empty()
        });
        for (at, was, is) in risky {
            let what = format!("the text at `{at}`");
            out.push(remark(&at, &what, was.as_ref().and_then(Value::as_str), is.as_ref().and_then(Value::as_str)));
        }
        match rest.len() {
            0 => {}
            1 => out.extend(rest.into_iter().map(|(at, was, is)| {
                let message = format!("the text at `{at}` changed");
                Remark::new(RULE.id, Level::Compatible, Surface::Presentation, &at, message).values(was, is)
            })),
            n => {
                let (mut was, mut is) = (serde_json::Map::new(), serde_json::Map::new());
                for (at, before, after) in rest {
                    was.insert(at.clone(), before.unwrap_or_default());
                    is.insert(at, after.unwrap_or_default());
                }
                let message = format!("{n} texts in `{key}` changed");
                out.push(
                    Remark::new(RULE.id, Level::Compatible, Surface::Presentation, &format!("/{key}"), message)
                        .values(Some(Value::Object(was)), Some(Value::Object(is))),
                );
            }
        }
    }
}

fn remark(at: &str, what: &str, before: Option<&str>, after: Option<&str>) -> Remark {
    let found = cues(before, after);
    let (level, message) = if found.is_empty() {
        let how = match (before, after) {
            (None, _) => "was added",
            (_, None) => "was removed",
            _ => "changed",
        };
        (Level::Compatible, format!("{what} {how}"))
    } else {
        (Level::Risky, format!("{what} changed and now {}", found.join(", ")))
    };
    let remark = Remark::new(RULE.id, level, Surface::Presentation, at, message)
        .values(before.map(Value::from), after.map(Value::from));
    if level == Level::Risky { remark.help("read it as the model will; have it rewritten if it is not about the tool") } else { remark }
}

/// The cue that is no more than a word in a new parameter.
const ELSEWHERE: &str = "sends elsewhere or names secrets";

/// What the new text does that the old one did not.
fn cues(before: Option<&str>, after: Option<&str>) -> Vec<&'static str> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let new = |test: &dyn Fn(&str) -> bool| test(after) && !test(before);
    let says = |list: &'static [&'static str]| {
        move |text: &str| {
            let text = text.to_lowercase();
            list.iter().any(|cue| text.contains(cue))
        }
    };
    let mut found = Vec::new();
    if new(&says(&[
        "before any other", "before using any", "always call", "always use this", "must call", "must always", "must first",
        "ignore previous", "ignore all", "ignore any", "disregard", "instead of any", "do not use any other",
        "system prompt", "<important>", "[system]", "you are now", "override",
    ])) {
        found.push("instructs the model");
    }
    if new(&says(&[
        "do not tell", "don't tell", "do not mention", "don't mention", "without telling", "without informing",
        "without asking", "not inform the user", "never mention", "keep this secret", "do not reveal", "silently",
        "hide this", "user must not",
    ])) {
        found.push("asks to conceal");
    }
    if new(&says(&["http://", "https://", "send to", "forward to", "upload to", "~/.ssh", "id_rsa", ".env", "password", "api key", "credentials"])) {
        found.push(ELSEWHERE);
    }
    if new(&|text: &str| text.chars().any(is_hidden)) {
        found.push("holds characters that people cannot see");
    }
    found
}

/// Characters that a reader does not see and a model does: zero-width, bidirectional controls, tags.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
