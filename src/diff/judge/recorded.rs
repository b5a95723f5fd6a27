//! What becomes of recorded calls: they were sent, whatever callers are taken to send.

use serde_json::Value;

use super::{names, shown_by, witness};
use crate::{
    contract::Contract,
    diff::{
        change::Change,
        finding::{Formats, Options, Origin, ToolCalls, Witness},
        rule::{Refused, Remark},
    },
    schema::{self, Counterexample, Rejection, Schema, Tried},
};

/// The calls of one tool, held against both its schemas.
#[derive(Default)]
pub(super) struct Recorded {
    /// Calls that the baseline accepts and the candidate rejects, the plainest first.
    pub(super) broken: Vec<Counterexample>,
    /// How many there are; nothing where none was given or a schema cannot be compiled.
    pub(super) count: Option<ToolCalls>,
}

impl Recorded {
    pub(super) fn of(calls: &[&Value], before: &Schema, after: &Schema) -> Self {
        if calls.is_empty() {
            return Self::default();
        }
        match schema::tried(before, after, calls) {
            Some(Tried { rejected_before, broken, found }) => {
                let count = ToolCalls { recorded: calls.len(), rejected_before, broken };
                Self { broken: found, count: Some(count) }
            }
            None => Self::default(),
        }
    }
}

/// The recorded call to which the candidate objects by the very keyword that a change is about, or inside the very property
/// that is new.
pub(super) fn showing(broken: &[Counterexample], change: &Change) -> Option<Witness> {
    find(broken, |call| {
        let by = |r: &&Rejection| match change.rule {
            "property-added" => change.place.is_above(&r.at),
            _ => r.keyword == change.keyword && change.place.is(&r.at) && names(r, change),
        };
        call.rejections.iter().find(by)
    })
}

/// The recorded call to which the candidate objects in a way that a change may be the cause of.
pub(super) fn showing_more(broken: &[Counterexample], change: &Change) -> Option<Witness> {
    find(broken, |call| shown_by(call, change))
}

fn find<'c>(
    broken: &'c [Counterexample],
    objection: impl Fn(&'c Counterexample) -> Option<&'c Rejection>,
) -> Option<Witness> {
    broken.iter().find_map(|call| objection(call).map(|by| as_witness(call, Some(by))))
}

/// A recorded call as a witness.
pub(super) fn as_witness(call: &Counterexample, by: Option<&Rejection>) -> Witness {
    Witness { origin: Origin::Recorded, ..witness(call, by) }
}

/// What becomes of the calls of a tool where some are refused for more than their arguments, and for each remark the plainest
/// of those that show it.
pub(in crate::diff) fn of_refused(
    (old, new): (&Contract, &Contract),
    options: Options,
    calls: &[&Value],
    told: &[Remark],
) -> Option<(ToolCalls, Vec<Option<Witness>>)> {
    let read =
        |tool: &Contract| Schema::reading(tool.input_schema(), options.formats == Formats::Assert).ok();
    let (before, after) = (read(old)?, read(new)?);
    let mut count = Recorded::of(calls, &before, &after).count?;
    let sends = |call: &Value, refused: &Refused| {
        call.pointer(refused.sending.as_str()).is_some_and(|value| !value.is_null())
    };
    let refused = || told.iter().filter_map(|remark| remark.refused.as_ref());
    let mut good: Vec<&Value> = calls.iter().copied().filter(|c| before.accepts(c) == Some(true)).collect();
    count.broken +=
        good.iter().filter(|c| after.accepts(c) == Some(true) && refused().any(|r| sends(c, r))).count();
    // The plainest first, whatever their order was.
    good.sort_by_cached_key(|call| {
        let text = call.to_string();
        (text.len(), text)
    });
    let witness = |refused: &Refused| {
        let call = good.iter().find(|call| sends(call, refused))?;
        let (value, at, reason) = ((*call).clone(), refused.sending.clone(), refused.reason.clone());
        Some(Witness { value, at, reason, origin: Origin::Recorded, message: None })
    };
    Some((count, told.iter().map(|remark| remark.refused.as_ref().and_then(witness)).collect()))
}

/// What becomes of the calls of a tool that is gone, and the plainest of those that it took.
pub(in crate::diff) fn of_removed(
    tool: &Contract,
    options: Options,
    calls: &[&Value],
) -> Option<(ToolCalls, Option<Witness>)> {
    let before = Schema::reading(tool.input_schema(), options.formats == Formats::Assert).ok()?;
    let nothing = Schema::new(&Value::Bool(false)).ok()?;
    let recorded = Recorded::of(calls, &before, &nothing);
    let reason = format!("there is no tool `{}` any more", tool.name);
    let witness = recorded.broken.first().map(|c| Witness { reason, ..as_witness(c, None) });
    Some((recorded.count?, witness))
}
