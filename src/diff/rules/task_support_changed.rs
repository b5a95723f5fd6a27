//! Whether callers may, must or must not call a tool as a task changed.

use serde_json::Value;

use super::{Check, Remark, Rule, Tools};
use crate::{
    contract::Contract,
    diff::{
        effect::{self, Effect},
        finding::{Level, Surface},
    },
};

/// Its id; the contract digest does not hold what it judges.
pub(in crate::diff) const ID: &str = "task-support-changed";

pub(super) const RULE: Rule = Rule {
    id: ID,
    surfaces: &[Surface::Input],
    what: "`execution.taskSupport` of the tool changed (MCP 2025-11-25; absent, it is `forbidden`).",
    why: "Where a task is required, a server must refuse (-32601) every call without one; where it is forbidden, clients must not \
          begin one. A caller that does what was fine before has to change either way, unless both are allowed now. 2026-07-28 \
          has no `execution`: a server that moves there takes it back from callers of the revision before.",
    instead: "Make it `optional`: callers with and without a task are served.",
    cases: include_str!("task_support_changed.yaml"),
    check: Check::Tool(check),
};

/// What a tool says of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskSupport {
    /// Calls are no tasks; the default, as for hints: what is of the wrong type counts as absent.
    Forbidden,
    /// Calls may be tasks.
    Optional,
    /// Calls have to be tasks.
    Required,
}

impl TaskSupport {
    /// What holds, said or not.
    pub(super) fn of(tool: &Contract) -> Self {
        match tool.tool().pointer("/execution/taskSupport").and_then(Value::as_str) {
            Some("optional") => Self::Optional,
            Some("required") => Self::Required,
            _ => Self::Forbidden,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden => "forbidden",
            Self::Optional => "optional",
            Self::Required => "required",
        }
    }
}

fn check(tools: &Tools<'_>, out: &mut Vec<Remark>) {
    use TaskSupport::{Forbidden, Optional, Required};
    let (was, is) = (TaskSupport::of(tools.baseline), TaskSupport::of(tools.candidate));
    // Of the two ways to call, as a task or not, which are served.
    let (effect, what) = match (was, is) {
        (Forbidden, Forbidden) | (Optional, Optional) | (Required, Required) => return,
        (Forbidden, Required) => (Effect::Moved, "has to be called as a task now, and could not be"),
        (Required, Forbidden) => (Effect::Moved, "can no longer be called as a task, and had to be"),
        (Optional, Required) => (Effect::Narrowed, "has to be called as a task now"),
        (Optional, Forbidden) => (Effect::Narrowed, "can no longer be called as a task"),
        (Forbidden, Optional) => (Effect::Widened, "may be called as a task now"),
        (Required, Optional) => (Effect::Widened, "may be called without a task now"),
    };
    let level = effect::level(Surface::Input, effect);
    let tool = &tools.baseline.name;
    let mut message = format!("tool `{tool}` {what} (`taskSupport` went from `{}` to `{}`)", was.as_str(), is.as_str());
    if level == Level::Breaking {
        message.push_str("; no witness is needed, since the arguments stay the same");
    }
    let remark = Remark::new(ID, level, Surface::Input, "/execution/taskSupport", message)
        .values(Some(was.as_str().into()), Some(is.as_str().into()));
    out.push(if level == Level::Breaking { remark.help(RULE.instead) } else { remark });
}
