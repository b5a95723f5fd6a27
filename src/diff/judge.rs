//! One schema surface of one tool: what changed, whether it is proved, and the witness for each break.

pub(super) mod recorded;

use std::{borrow::Cow, sync::LazyLock};

use recorded::Recorded;
use serde_json::{Value, json};

use super::{
    change::{Change, Place},
    effect,
    finding::{Assumption, Formats, Level, Options, Origin, Surface, ToolCalls, Verdicts, Witness},
    rule::Remark,
    rules::{invalid_schema, notation_changed, undecided_change, unexplained_change},
    walk,
};
use crate::{
    contract::{normal_schema, references},
    schema::{self, Answer, Counterexample, Schema},
};

/// What the judge says.
pub(super) struct Judged {
    /// Under the assumption asked for.
    pub(super) remarks: Vec<(Remark, Option<Witness>)>,
    /// Under both.
    pub(super) verdicts: Verdicts,
    /// What becomes of recorded calls, where some were given and could be held against both schemas.
    pub(super) calls: Option<ToolCalls>,
}

/// A schema document.
pub(super) struct Document<'a> {
    /// As its author wrote it.
    pub(super) schema: &'a Value,
    /// Without words and notation.
    pub(super) normal: &'a Value,
}

/// Judges two schema documents that differ. `calls` are the arguments of recorded calls.
pub(super) fn judge(
    surface: Surface,
    baseline: &Document<'_>,
    candidate: &Document<'_>,
    options: Options,
    calls: &[&Value],
) -> Judged {
    // On both sides, or it would look like a change.
    let say = surface == Surface::Input && can_be_said(baseline.schema) && can_be_said(candidate.schema);
    let (written, rewritten) = (normal_of(baseline, say), normal_of(candidate, say));
    let (baseline, candidate) =
        (&said_of_objects(baseline.schema, say), &said_of_objects(candidate.schema, say));
    let only = |remark: Remark| Judged {
        verdicts: Verdicts { declared: remark.level, strict: remark.level },
        remarks: vec![(remark, None)],
        calls: None,
    };
    let read = |schema| Schema::reading(schema, options.formats == Formats::Assert);
    let (mut before, after) = match (read(baseline), read(candidate)) {
        (Ok(before), Ok(after)) => (before, after),
        (Ok(_), Err(e)) => return only(invalid_schema::remark(surface, &e.to_string(), true)),
        (Err(e), _) => return only(invalid_schema::remark(surface, &e.to_string(), false)),
    };
    let recorded = Recorded::of(calls, &before, &after);
    if !calls.is_empty() {
        before = before.seeing(calls);
    }
    let answers = ask(surface, &before, &after, callable(surface, baseline));
    let changes = walk::changes(surface, &written, &rewritten, options.formats);
    let context = Context {
        surface,
        baseline: &written,
        candidate: &rewritten,
        formats: options.formats,
        recorded: &recorded.broken,
    };
    let declared = context.findings(&answers.declared, &changes, Assumption::Declared);
    let strict = context.findings(&answers.strict, &changes, Assumption::Strict);
    let fold = |remarks: &[(Remark, Option<Witness>)]| {
        remarks.iter().map(|(r, _)| r.level).max().unwrap_or(Level::Compatible)
    };
    let verdicts = Verdicts { declared: fold(&declared), strict: fold(&strict) };
    let mut remarks = match options.assume {
        Assumption::Declared => declared,
        Assumption::Strict => strict,
    };
    let (inner, outer) = sides(surface, &after, &before);
    // Where the values are the same, what each keyword does to them is notation, and told once.
    let told = |(remark, _): &(Remark, Option<Witness>)| {
        remark.level > Level::Compatible || notation_changed::MORE.contains(&remark.rule)
    };
    if matches!(answers.strict, Answer::Contained(_))
        && !remarks.iter().all(told)
        && matches!(schema::by_structure(inner, outer), Some(Answer::Contained(_)))
    {
        remarks.retain(told);
        remarks.push((notation_changed::remark(surface), None));
    }
    if remarks.is_empty() {
        let remark = if matches!(schema::contained(inner, outer, &[]), Answer::Contained(_)) {
            notation_changed::remark(surface)
        } else {
            Remark { level: Level::Compatible, ..unexplained_change::remark(surface) }.saying(match surface {
                Surface::Output => "the schema is written otherwise, and promises at least what it did",
                _ => "the schema is written otherwise, and takes all that it took",
            })
        };
        remarks.push((remark, None));
    }
    Judged { remarks, verdicts, calls: recorded.count }
}

/// Whether a schema says what type its values are, or can be made to, and says nothing else by that: not where a
/// reference leads to the whole schema, which values inside then meet as well, and not beside a `$ref`, where older
/// dialects read nothing.
fn can_be_said(schema: &Value) -> bool {
    let inside = |target: &str| target.starts_with("#/");
    schema.get("type").is_some() || schema.get("$ref").is_none() && references(schema).into_iter().all(inside)
}

/// The `arguments` of a call are an object, whether the schema says so or not (MCP, `tools/call`); here it does.
fn said_of_objects(schema: &Value, say: bool) -> Cow<'_, Value> {
    match schema {
        Value::Object(members) if say && !members.contains_key("type") => {
            let mut members = members.clone();
            members.insert("type".to_owned(), "object".into());
            Cow::Owned(Value::Object(members))
        }
        schema => Cow::Borrowed(schema),
    }
}

/// The document without words and notation, and with what is said of objects.
fn normal_of<'a>(document: &Document<'a>, say: bool) -> Cow<'a, Value> {
    match said_of_objects(document.schema, say) {
        Cow::Borrowed(_) => Cow::Borrowed(document.normal),
        Cow::Owned(said) => Cow::Owned(normal_schema(&said)),
    }
}

/// What every counterexample of a surface is, beside what the schemas say: the arguments of a call are an object.
fn callable(surface: Surface, baseline: &Value) -> Option<&'static Schema> {
    static OBJECT: LazyLock<Option<Schema>> =
        LazyLock::new(|| Schema::new(&json!({ "type": "object" })).ok());
    let said = baseline.get("type").is_some_and(|t| t == "object") && baseline.get("$ref").is_none();
    (surface == Surface::Input && !said).then_some(OBJECT.as_ref()).flatten()
}

struct Answers {
    declared: Answer,
    strict: Answer,
}

/// Asks under both assumptions, and no question whose answer follows from another. Counterexamples are values of
/// `within` too.
fn ask(surface: Surface, before: &Schema, after: &Schema, within: Option<&Schema>) -> Answers {
    let with = |more| within.into_iter().chain(more).collect::<Vec<&Schema>>();
    let both = |answer: Answer| Answers { strict: answer.clone(), declared: answer };
    let (inner, outer) = sides(surface, before, after);
    // Fewer values are meant by `declared`, so what is proved without it is proved.
    let proof = schema::by_structure(inner, outer);
    if let Some(proved @ Answer::Contained(_)) = proof {
        return both(proved);
    }
    let strictly = || proof.unwrap_or_else(|| schema::by_search(inner, outer, &with(None)));
    let declared = match surface {
        // Results hold what the candidate declares, and what the baseline did: a field that is no longer declared
        // may still come, and be anything.
        Surface::Output => match (before.opened(), after.closed()) {
            (Ok(opened), Ok(_)) if opened.says_the_same(before) => return both(strictly()),
            (Ok(opened), Ok(closed)) => match only_rejected(schema::contained(after, &opened, &[]), before) {
                Answer::Contained(_) if closed.says_the_same(after) => return both(strictly()),
                Answer::Contained(_) => schema::contained(&closed, before, &[after]),
                // What cannot be told of all results may be told of those that hold what is declared.
                Answer::Unknown(reason) => match schema::contained(&closed, before, &[after]) {
                    Answer::Contained(_) => Answer::Unknown(reason),
                    answer => answer,
                },
                answer => answer,
            },
            (Err(reason), _) | (_, Err(reason)) => Answer::Unknown(reason),
        },
        _ => match before.closed() {
            Ok(closed) if closed.says_the_same(before) => return both(strictly()),
            Ok(closed) => schema::contained(&closed, after, &with(Some(before))),
            Err(reason) => Answer::Unknown(reason),
        },
    };
    match declared {
        // What breaks for fewer values breaks under `strict`.
        Answer::Refuted(_) => both(declared),
        declared => match strictly() {
            proved @ Answer::Contained(_) => both(proved),
            strict => Answers { declared, strict },
        },
    }
}

/// The question of a surface, whose values must be whose: callers send input, so the baseline's must be the candidate's;
/// they read output, so the candidate's must be the baseline's.
fn sides<'s>(surface: Surface, before: &'s Schema, after: &'s Schema) -> (&'s Schema, &'s Schema) {
    match surface {
        Surface::Output => (after, before),
        _ => (before, after),
    }
}

/// Counterexamples against a rewritten schema that the schema itself rejects as well.
fn only_rejected(answer: Answer, by: &Schema) -> Answer {
    match answer {
        Answer::Refuted(mut found) => {
            found.retain(|c| by.accepts(&c.value) == Some(false));
            if found.is_empty() {
                Answer::Unknown("values were found, and the schema as written accepts them".to_owned())
            } else {
                Answer::Refuted(found)
            }
        }
        answer => answer,
    }
}

struct Context<'a> {
    surface: Surface,
    formats: Formats,
    baseline: &'a Value,
    candidate: &'a Value,
    /// Recorded calls that the baseline accepts and the candidate rejects. They were sent, whatever callers are taken to
    /// send.
    recorded: &'a [Counterexample],
}

impl Context<'_> {
    fn findings(
        &self,
        answer: &Answer,
        changes: &[Change],
        assumption: Assumption,
    ) -> Vec<(Remark, Option<Witness>)> {
        let mut out: Vec<(Remark, Option<Witness>)> =
            changes.iter().map(|change| self.finding(answer, change, assumption)).collect();
        match (self.recorded.first(), answer) {
            (Some(call), _) => {
                // It may break by another change than those that are shown.
                let shown = |w: &Witness| w.origin == Origin::Recorded;
                if !out.iter().any(|(_, witness)| witness.as_ref().is_some_and(shown)) {
                    let witness = Some(recorded::as_witness(call, None));
                    out.push((unexplained_change::remark(self.surface), witness));
                }
            }
            (None, Answer::Refuted(found)) if out.iter().all(|(_, witness)| witness.is_none()) => {
                let witness = found.first().map(|c| witness(c, None));
                out.push((unexplained_change::remark(self.surface), witness));
            }
            (None, Answer::Unknown(reason)) if out.iter().all(|(r, _)| r.level != Level::Undecided) => {
                out.push((undecided_change::remark(self.surface, reason), None));
            }
            (None, Answer::Refuted(_) | Answer::Unknown(_) | Answer::Contained(_)) => {}
        }
        out
    }

    fn finding(&self, answer: &Answer, change: &Change, assumption: Assumption) -> (Remark, Option<Witness>) {
        let call = recorded::showing(self.recorded, change);
        let effect = match assumption {
            // What was sent is sent, whatever callers are taken to send.
            Assumption::Declared if call.is_none() => change.declared,
            Assumption::Declared | Assumption::Strict => change.effect,
        };
        let claimed = effect::level(self.surface, effect);
        let floor = match (change.ignored && self.surface == Surface::Input, change.needed, assumption) {
            // Every call carried it, and none has its effect any more; no validator can show that.
            (true, true, Assumption::Declared) => Level::Breaking,
            (true, ..) => Level::Risky,
            (false, ..) => Level::Compatible,
        };
        let call = call.or_else(|| recorded::showing_more(self.recorded, change));
        let (level, witness, doubt) = match (claimed, call, answer) {
            (Level::Compatible | Level::Risky, ..) => (claimed, None, None),
            (Level::Breaking | Level::Undecided, Some(witness), _) => (Level::Breaking, Some(witness), None),
            (Level::Breaking | Level::Undecided, None, Answer::Contained(_)) => {
                (Level::Compatible, None, None)
            }
            (Level::Breaking | Level::Undecided, None, Answer::Refuted(found)) => {
                match found.iter().find_map(|c| shown_by(c, change).map(|r| witness(c, Some(r)))) {
                    Some(witness) => (Level::Breaking, Some(witness), None),
                    None => {
                        self.alone(change, assumption, "no value was found that shows this change by itself")
                    }
                }
            }
            (Level::Breaking | Level::Undecided, None, Answer::Unknown(reason)) => {
                self.alone(change, assumption, reason)
            }
        };
        let mut remark = Remark::new(
            change.rule,
            level.max(floor),
            self.surface,
            change.at.as_str(),
            change.message.clone(),
        )
        .values(change.baseline.clone(), change.candidate.clone());
        if let Some(doubt) = doubt {
            remark = remark.help(format!("not decided: {doubt}"));
        } else if matches!(level.max(floor), Level::Breaking | Level::Risky)
            && let Some(rule) = super::rules::find(change.rule)
        {
            remark = remark.help(rule.instead);
        }
        (remark, witness)
    }

    /// Judges one change by its own two schemas, where the whole gives no witness for it.
    fn alone(
        &self,
        change: &Change,
        assumption: Assumption,
        doubt: &str,
    ) -> (Level, Option<Witness>, Option<String>) {
        let document = |schema: &Value, root: &Value| -> Option<Schema> {
            Schema::reading(&with_definitions(schema, root)?, self.formats == Formats::Assert).ok()
        };
        let before = document(&change.nodes.0, self.baseline);
        let after = document(&change.nodes.1, self.candidate);
        if let (Some(before), Some(after)) = (before, after) {
            let answers = ask(self.surface, &before, &after, None);
            let answer = match assumption {
                Assumption::Declared => answers.declared,
                Assumption::Strict => answers.strict,
            };
            if matches!(answer, Answer::Contained(_)) {
                return (Level::Compatible, None, None);
            }
        }
        (Level::Undecided, None, Some(doubt.to_owned()))
    }
}

/// A part of a schema as a document of its own: with the definitions it refers to, where those stand in the usual place.
fn with_definitions(schema: &Value, root: &Value) -> Option<Value> {
    let Value::Object(members) = schema else { return Some(schema.clone()) };
    let mut members = members.clone();
    for key in ["$defs", "definitions", "$schema"] {
        if let Some(value) = root.get(key) {
            // Other definitions of its own would stand in the way of those that are referred to.
            if members.get(key).is_some_and(|own| own != value) {
                return None;
            }
            members.insert(key.to_owned(), value.clone());
        }
    }
    let usual = |t: &str| t.starts_with("#/$defs/") || t.starts_with("#/definitions/");
    references(schema).into_iter().all(usual).then_some(Value::Object(members))
}

/// The objection to a counterexample that this change is the cause of.
fn shown_by<'c>(found: &'c Counterexample, change: &Change) -> Option<&'c schema::Rejection> {
    let around = || {
        let (_, outer) = change.place.0.split_last()?;
        Some(Place(outer.to_vec()))
    };
    found.rejections.iter().find(|r| {
        let named = names(r, change);
        let here = change.place.is(&r.at);
        let keyword = r.keyword.as_str();
        // A union hides which of its branches objected.
        let hidden = matches!(keyword, "anyOf" | "oneOf") && change.place.is_below(&r.at);
        match change.rule {
            "property-removed" | "property-added" if hidden => true,
            "property-removed" => {
                change.place.is_above(&r.at)
                    || named
                        && matches!(keyword, "required" | "additionalProperties" | "unevaluatedProperties")
                        && around().is_some_and(|p| p.is(&r.at))
            }
            "property-added" => {
                change.place.is_above(&r.at)
                    || matches!(keyword, "additionalProperties" | "unevaluatedProperties")
                        && around().is_some_and(|p| p.is(&r.at))
            }
            "items-changed"
            | "additional-properties-changed"
            | "composition-changed"
            | "constraint-changed" => change.place.is_above(&r.at),
            "type-changed" => here && matches!(keyword, "type" | "enum" | "const" | "anyOf" | "oneOf"),
            "enum-value-removed" | "enum-value-added" => {
                here && matches!(keyword, "type" | "enum" | "const" | "anyOf" | "oneOf")
            }
            "additional-properties-closed" | "additional-properties-opened" => {
                here && matches!(keyword, "additionalProperties" | "unevaluatedProperties")
                    || change.place.join(super::change::Step::Any).is_above(&r.at)
            }
            _ => named && here && keyword == change.keyword || hidden,
        }
    })
}

/// Whether an objection names the property that a change is about; validators quote the names they miss or do not expect.
fn names(objection: &schema::Rejection, change: &Change) -> bool {
    let quoted = |name: &String| {
        objection.reason.contains(&format!("\"{name}\"")) || objection.reason.contains(&format!("'{name}'"))
    };
    change.name.as_ref().is_none_or(quoted)
}

fn witness(found: &Counterexample, by: Option<&schema::Rejection>) -> Witness {
    // A counterexample has at least one objection.
    let rejection = by.or(found.rejections.first());
    Witness {
        value: found.value.clone(),
        at: rejection.map(|r| r.at.clone()).unwrap_or_default(),
        reason: rejection.map(|r| r.reason.clone()).unwrap_or_default(),
        origin: Origin::Built,
        message: None,
    }
}
