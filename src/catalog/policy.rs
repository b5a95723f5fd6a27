//! What blocks: the policy of a catalog, and what environments demand beyond it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    diff::{Assumption, Finding, Formats, Level, Options, Surface},
    name::{EnvironmentName, ServerName},
};

/// Which callers have to be able to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Those who send: what `inputSchema` takes (Confluent's BACKWARD).
    Input,
    /// Those who read: what `outputSchema` promises (Confluent's FORWARD).
    Output,
    /// Both (FULL).
    #[default]
    Full,
}

impl Direction {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Full => "full",
        }
    }

    /// Whether a change on this surface is any of its business. A tool that is gone, a hint or a word concerns everyone.
    #[must_use]
    pub fn covers(self, surface: Surface) -> bool {
        match surface {
            Surface::Input => self != Self::Output,
            Surface::Output => self != Self::Input,
            Surface::Listing | Surface::Annotations | Surface::Presentation => true,
        }
    }
}

/// Which versions a candidate is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// The newest approved one; for an environment, what is live there.
    #[default]
    Latest,
    /// Each contract that a tool had since its contractVersion last moved its major, as well.
    SinceMajor,
    /// Everything that was ever live as well: in that environment, or, for a draft, in any.
    EverLive,
}

impl Against {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::SinceMajor => "since-major",
            Self::EverLive => "ever-live",
        }
    }
}

/// What blocks, per catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Policy {
    /// What callers are taken to send.
    pub assume: Assumption,
    /// What a `format` is taken for.
    pub formats: Formats,
    /// Levels that block a draft and a gate. Absolute findings block whatever stands here.
    pub fail_on: Vec<Level>,
    /// Which callers have to be able to go on.
    pub compatibility: Direction,
    /// Which versions a draft is held against.
    pub against: Against,
    /// How many people other than its authors have to approve a draft. With none, its author may.
    pub approvals: u32,
    /// The most tools that a version may hold: a model that is offered hundreds chooses badly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<u32>,
    /// After how many days what was announced to go may go without blocking; never where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation_days: Option<u32>,
}

impl Default for Policy {
    /// `declared`; breaking and undecided block: unknown is never read as compatible.
    fn default() -> Self {
        Self {
            assume: Assumption::Declared,
            formats: Formats::Risky,
            fail_on: vec![Level::Breaking, Level::Undecided],
            compatibility: Direction::Full,
            against: Against::Latest,
            approvals: 0,
            max_tools: None,
            deprecation_days: None,
        }
    }
}

impl Policy {
    /// How a diff is judged under it.
    #[must_use]
    pub fn options(&self) -> Options {
        Options { assume: self.assume, formats: self.formats }
    }

    /// Whether a report passes, and if not, the first finding that blocks with its tool.
    #[must_use]
    pub fn blocks<'r>(
        &self,
        report: &'r crate::diff::Report,
    ) -> Option<(&'r crate::diff::ToolReport, &'r Finding)> {
        report.findings().find(|(_, f)| self.blocks_finding(f))
    }

    /// Whether this finding blocks.
    #[must_use]
    pub fn blocks_finding(&self, finding: &Finding) -> bool {
        finding.absolute
            || (self.fail_on.contains(&finding.level) && self.compatibility.covers(finding.surface))
    }

    /// The stricter of each part of two policies, for what has to stand under both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let assume = if self.assume == Assumption::Strict { self.assume } else { other.assume };
        let mut fail_on = self.fail_on;
        for level in other.fail_on {
            if !fail_on.contains(&level) {
                fail_on.push(level);
            }
        }
        // What is asserted can break; what may be either can be a risk.
        let rank = |formats| match formats {
            Formats::Assert => 2,
            Formats::Risky => 1,
            Formats::Annotate => 0,
        };
        let formats = if rank(self.formats) >= rank(other.formats) { self.formats } else { other.formats };
        let compatibility =
            if self.compatibility == other.compatibility { self.compatibility } else { Direction::Full };
        let against = match (self.against, other.against) {
            (Against::EverLive, _) | (_, Against::EverLive) => Against::EverLive,
            (Against::SinceMajor, _) | (_, Against::SinceMajor) => Against::SinceMajor,
            (Against::Latest, Against::Latest) => Against::Latest,
        };
        Self {
            assume,
            formats,
            fail_on,
            compatibility,
            against,
            approvals: self.approvals.max(other.approvals),
            max_tools: self.max_tools.into_iter().chain(other.max_tools).min(),
            // Who promises nothing lets nothing go.
            deprecation_days: self.deprecation_days.zip(other.deprecation_days).map(|(a, b)| a.max(b)),
        }
    }
}

/// What has to be so of the servers before a pointer moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// Every registered server serves what is pinned, or the move is refused.
    #[default]
    Require,
    /// They are asked, and what they said is recorded.
    Record,
    /// Nobody is asked.
    Skip,
}

impl Probe {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Record => "record",
            Self::Skip => "skip",
        }
    }
}

/// What an environment demands of a catalog's versions. What it leaves out is as the catalog's [`Policy`] says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EnvironmentPolicy {
    /// The environment that comes before: only what was live there, and is not held there, comes here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<EnvironmentName>,
    /// What callers are taken to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assume: Option<Assumption>,
    /// What a `format` is taken for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formats: Option<Formats>,
    /// Levels that block a promotion, of what changes for whoever uses this environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_on: Option<Vec<Level>>,
    /// Levels that block a rollback, of what is lost by going back; none where absent: the loss is stated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rollback_fail_on: Vec<Level>,
    /// Which callers have to be able to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<Direction>,
    /// Which versions a candidate is held against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// How many people other than its authors have to have approved a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u32>,
    /// The most tools that a version may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<u32>,
    /// After how many days what was announced here may go without blocking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation_days: Option<u32>,
    /// What has to be so of the servers.
    #[serde(skip_serializing_if = "Probe::is_default")]
    pub probe: Probe,
    /// The registered servers that serve this environment, where they are not the ones that the contracts came from.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<ServerName, ServerName>,
}

impl Probe {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl EnvironmentPolicy {
    /// The whole policy of the environment: its own words, and the catalog's where it has none.
    #[must_use]
    pub fn over(&self, catalog: &Policy) -> Policy {
        Policy {
            assume: self.assume.unwrap_or(catalog.assume),
            formats: self.formats.unwrap_or(catalog.formats),
            fail_on: self.fail_on.clone().unwrap_or_else(|| catalog.fail_on.clone()),
            compatibility: self.compatibility.unwrap_or(catalog.compatibility),
            against: self.against.unwrap_or(catalog.against),
            approvals: self.approvals.unwrap_or(catalog.approvals),
            max_tools: self.max_tools.or(catalog.max_tools),
            deprecation_days: self.deprecation_days.or(catalog.deprecation_days),
        }
    }

    /// The registered server that serves this one's tools here.
    #[must_use]
    pub fn serving<'a>(&'a self, server: &'a ServerName) -> &'a ServerName {
        self.servers.get(server).unwrap_or(server)
    }
}

/// The environments of a catalog in the order that `after` gives them, or the one at which they go in a circle, or that
/// comes after one that is not there.
///
/// # Errors
/// The environment and what is wrong with its `after`.
pub fn order(
    environments: &BTreeMap<EnvironmentName, EnvironmentPolicy>,
) -> Result<Vec<&EnvironmentName>, (EnvironmentName, String)> {
    for (name, policy) in environments {
        let mut before = policy.after.as_ref();
        let mut steps = 0;
        while let Some(after) = before {
            let Some(next) = environments.get(after) else {
                return Err((
                    name.clone(),
                    format!("comes after `{after}`, which is not among the environments"),
                ));
            };
            steps += 1;
            if after == name || steps > environments.len() {
                return Err((name.clone(), "comes after itself".to_owned()));
            }
            before = next.after.as_ref();
        }
    }
    let depth = |name: &EnvironmentName| {
        let after = |n: &&EnvironmentName| environments.get(*n).and_then(|p| p.after.as_ref());
        std::iter::successors(Some(name), after).count()
    };
    let mut names: Vec<&EnvironmentName> = environments.keys().collect();
    names.sort_by_key(|name| (depth(name), *name));
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_policies_the_stricter_holds() {
        let strict = Policy {
            assume: Assumption::Strict,
            formats: Formats::Annotate,
            fail_on: vec![Level::Risky],
            ..Policy::default()
        };
        let both = Policy::default().and(strict);
        assert_eq!(both.assume, Assumption::Strict);
        assert_eq!(both.fail_on, [Level::Breaking, Level::Undecided, Level::Risky]);
        for (one, other, expected) in
            [(None, Some(30), None), (Some(90), Some(30), Some(90)), (Some(30), Some(90), Some(90))]
        {
            let of = |deprecation_days| Policy { deprecation_days, ..Policy::default() };
            assert_eq!(of(one).and(of(other)).deprecation_days, expected);
        }
    }

    #[test]
    fn environments_stand_in_the_order_that_they_come_after_each_other() {
        let name = |text: &str| text.parse::<EnvironmentName>().unwrap_or_else(|e| panic!("{e}"));
        let of = |all: &[(&str, Option<&str>)]| {
            let policy =
                |after: Option<&str>| EnvironmentPolicy { after: after.map(name), ..Default::default() };
            let all: BTreeMap<_, _> = all.iter().map(|(n, after)| (name(n), policy(*after))).collect();
            order(&all)
                .map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>())
                .map_err(|(name, cause)| format!("{name} {cause}"))
        };
        let three = [("a-production", Some("staging")), ("dev", None), ("staging", Some("dev"))];
        assert_eq!(of(&three), Ok(["dev", "staging", "a-production"].map(str::to_owned).to_vec()));
        assert_eq!(of(&[]), Ok(Vec::new()));
        for (all, said) in [
            (&[("a", Some("a"))][..], "a comes after itself"),
            (&[("a", Some("b")), ("b", Some("a"))], "a comes after itself"),
            (&[("z", Some("a")), ("a", Some("b")), ("b", Some("a"))], "a comes after itself"),
            (&[("a", Some("b"))], "a comes after `b`, which is not among the environments"),
        ] {
            assert_eq!(of(all), Err(said.to_owned()));
        }
    }
}
