//! The review of a draft, change by change: a queue of all of them, and the one that is looked at.
//!
//! It only arranges what the engine said and what people decided. Of many changes each page tells one whole, so that a page
//! stays small whatever the draft holds; the queue names them all, a stretch of each group at a time.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    lines::Lines,
    report::{FindingView, status},
};
use crate::{
    app::view::{ReviewPage, Standing},
    catalog::{
        Content, ContractVersion, Member,
        announced::Notice,
        review::{Comment, Decision, Ruling},
    },
    diff::{Assumption, Finding, Level, Report, ToolReport},
    json::Digest,
};

/// Entries of one group that stand in the queue at once.
const STRETCH: usize = 120;

/// How a change is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Show {
    /// What changed there, in words and values.
    #[default]
    Plain,
    /// The whole tool as its server lists it, before and now.
    Json,
    /// The patch from the one contract to the other.
    Patch,
}

impl Show {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Json => "json",
            Self::Patch => "patch",
        }
    }
}

/// Where the pages of a draft live.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// The page without a query.
    pub(super) path: String,
    /// The assumption that was asked for, where it is another than the policy's.
    pub(super) assume: Option<Assumption>,
    /// How the change is shown.
    pub(super) show: Show,
}

impl Address {
    /// The page of one change, as it is looked at now.
    pub(super) fn of(&self, change: &Digest) -> String {
        let (path, change) = (&self.path, change.short());
        let assume = self.assume.map(|a| format!("&assume={a}")).unwrap_or_default();
        let show = match self.show {
            Show::Plain => String::new(),
            Show::Json | Show::Patch => format!("&show={}", self.show.as_str()),
        };
        format!("{path}?change={change}{assume}{show}")
    }

    /// The same, shown otherwise.
    fn shown(&self, change: &Digest, show: Show) -> String {
        Self { show, ..self.clone() }.of(change)
    }
}

/// A draft's changes.
pub(super) struct Review<'d> {
    /// The groups that are not empty, the worst first.
    pub(super) groups: Vec<Group<'d>>,
    /// The change that is looked at; nothing where nothing differs.
    pub(super) current: Option<Current<'d>>,
    /// How many changes there are.
    pub(super) count: usize,
}

/// Changes that stand together in the queue.
pub(super) struct Group<'d> {
    pub(super) title: &'static str,
    /// Its part of an id.
    pub(super) id: &'static str,
    /// What the group says, in one sentence.
    pub(super) means: &'static str,
    pub(super) count: usize,
    /// How many of them stand in the way.
    pub(super) blocking: usize,
    pub(super) open: bool,
    /// What stands before the stretch that is shown: how many, and the last of them.
    pub(super) before: Option<(usize, String)>,
    pub(super) items: Vec<Item<'d>>,
    /// What stands behind it: how many, and the first of them.
    pub(super) after: Option<(usize, String)>,
}

/// A change in the queue.
pub(super) struct Item<'d> {
    /// Its tool, where it is the first of its tool.
    pub(super) tool: Option<&'d ToolReport>,
    pub(super) finding: &'d Finding,
    pub(super) href: String,
    pub(super) current: bool,
    pub(super) mark: Option<Mark>,
}

/// How a change stands, in a word.
pub(super) struct Mark {
    pub(super) class: &'static str,
    pub(super) glyph: &'static str,
    pub(super) word: String,
}

/// The change that is looked at.
pub(super) struct Current<'d> {
    pub(super) view: FindingView<'d>,
    pub(super) tool: &'d ToolReport,
    /// What happened to the tool.
    pub(super) status: &'static str,
    /// The version that the policy held it against, where that is none of the newest.
    pub(super) earlier: Option<&'d str>,
    pub(super) from: Option<&'d ContractVersion>,
    pub(super) to: Option<&'d ContractVersion>,
    pub(super) mark: Option<Mark>,
    pub(super) blocks: Option<&'static str>,
    pub(super) decision: Option<&'d Decision>,
    pub(super) announced: Option<&'d Notice>,
    /// What counts of it in one environment alone.
    pub(super) elsewhere: Vec<&'d Decision>,
    pub(super) comments: Vec<&'d Comment>,
    /// How many other changes the same rule found.
    pub(super) siblings: usize,
    /// The JSON-RPC message of the witness.
    pub(super) message: Option<serde_json::Value>,
    /// Its place among all, from 1.
    pub(super) place: usize,
    pub(super) previous: Option<String>,
    pub(super) next: Option<String>,
    /// Each way to show it with its name, its page, and whether it is the one.
    pub(super) ways: [(&'static str, String, bool); 3],
    pub(super) show: Show,
    /// Both sides line by line, where they are shown.
    pub(super) lines: Option<Lines>,
}

/// A change with what it belongs to.
#[derive(Clone, Copy)]
struct Change<'d> {
    report: &'d Report,
    tool: &'d ToolReport,
    finding: &'d Finding,
}

/// What a queue is made of, in its order, and how each change stands.
pub(super) struct Queue<'d> {
    groups: [Vec<Change<'d>>; GROUPS.len()],
    standing: HashMap<&'d Digest, &'d Standing>,
    main: &'d Report,
}

/// Title, id and meaning of each group, the worst first.
const GROUPS: [(&str, &str, &str); 5] = [
    ("Breaking", "breaking", "A call or a result that was fine is not fine now."),
    ("Risky", "risky", "Breaks no schema, and may change what happens."),
    ("Undecided", "undecided", "Not proved either way; never read as compatible."),
    ("Compatible", "compatible", "Proved harmless, or words only."),
    ("Notation", "notation", "Written otherwise, and the same."),
];

fn group(finding: &Finding) -> usize {
    match finding.level {
        Level::Breaking => 0,
        Level::Risky => 1,
        Level::Undecided => 2,
        Level::Compatible if finding.is_notation() => 4,
        Level::Compatible => 3,
    }
}

impl<'d> Queue<'d> {
    /// The changes of a page; `other` is the report under another assumption than the policy's, where that is asked for.
    pub(super) fn new(page: &'d ReviewPage, other: Option<&'d Report>) -> Self {
        let main = other.unwrap_or(&page.draft.report);
        // What older versions had was judged under the policy alone.
        let earlier = if other.is_some() { &[][..] } else { &page.draft.earlier };
        let mut groups: [Vec<Change<'d>>; GROUPS.len()] = Default::default();
        let mut seen = HashSet::new();
        for report in std::iter::once(main).chain(earlier) {
            for (tool, finding) in report.findings() {
                if seen.insert(&finding.fingerprint)
                    && let Some(group) = groups.get_mut(group(finding))
                {
                    group.push(Change { report, tool, finding });
                }
            }
        }
        for changes in &mut groups {
            // A call that fails says more than a sentence about it, so proved tools stand first, each with all of its changes.
            let proved: HashSet<_> = changes
                .iter()
                .filter(|c| c.finding.witness.is_some())
                .map(|c| (c.tool.server.as_str(), c.tool.tool.as_str()))
                .collect();
            changes.sort_by_key(|c| {
                let tool = (c.tool.server.as_str(), c.tool.tool.as_str());
                (!proved.contains(&tool), tool)
            });
        }
        let standing = page.standing.iter().map(|s| (&s.fingerprint, s)).collect();
        Self { groups, standing, main }
    }

    fn all(&self) -> impl Iterator<Item = &Change<'d>> {
        self.groups.iter().flatten()
    }

    fn blocks(&self, finding: &Finding) -> Option<&'static str> {
        self.standing.get(&finding.fingerprint).and_then(|s| s.blocks)
    }

    /// The change whose fingerprint begins so.
    pub(super) fn find(&self, digits: &str) -> Option<&'d Finding> {
        self.all().map(|c| c.finding).find(|f| f.fingerprint.hex().starts_with(digits))
    }

    /// The tool of a change, and whether it has a change of it at all.
    pub(super) fn tool_of(&self, change: &Digest) -> Option<&'d ToolReport> {
        self.all().find(|c| c.finding.fingerprint == *change).map(|c| c.tool)
    }

    /// The changes that a rule found.
    pub(super) fn of_rule(&self, rule: &str) -> Vec<&'d Finding> {
        self.all().map(|c| c.finding).filter(|f| f.rule == rule).collect()
    }

    /// The change to be looked at where none is asked for: the first that stands in the way, or the first.
    pub(super) fn first(&self) -> Option<&'d Finding> {
        self.first_blocking().or_else(|| self.all().next().map(|c| c.finding))
    }

    /// The first change that stands in the way.
    pub(super) fn first_blocking(&self) -> Option<&'d Finding> {
        self.all().map(|c| c.finding).find(|f| self.blocks(f).is_some())
    }

    /// The next change behind this one that nobody decided on and that stands in the way, from the beginning again at the end.
    pub(super) fn next_open(&self, after: &Digest) -> Option<&'d Finding> {
        let at = self.all().position(|c| c.finding.fingerprint == *after).map_or(0, |at| at + 1);
        let open = |c: &&Change<'d>| matches!(self.blocks(c.finding), Some("open" | "waiver-expired"));
        let behind = self.all().skip(at).find(open);
        behind.or_else(|| self.all().take(at).find(open)).map(|c| c.finding)
    }
}

/// Beside the draft: what its tools were, and what the page is to show.
pub(super) struct Shown<'d> {
    pub(super) before: Option<&'d Content>,
    pub(super) lines: Option<Lines>,
    pub(super) now: DateTime<Utc>,
}

impl<'d> Review<'d> {
    /// The queue around the change that is looked at.
    pub(super) fn new(
        page: &'d ReviewPage,
        queue: &Queue<'d>,
        at: Option<&'d Digest>,
        address: &Address,
        shown: Shown<'d>,
    ) -> Self {
        let groups = GROUPS.iter().zip(&queue.groups).filter(|(_, changes)| !changes.is_empty());
        let groups =
            groups.map(|(named, changes)| Group::new(*named, changes, queue, at, address, shown.now));
        let count = queue.groups.iter().map(Vec::len).sum();
        let groups = groups.collect();
        let current = at.and_then(|at| Current::new(page, queue, at, address, shown));
        Self { groups, current, count }
    }
}

impl<'d> Group<'d> {
    fn new(
        (title, id, means): (&'static str, &'static str, &'static str),
        changes: &[Change<'d>],
        queue: &Queue<'d>,
        at: Option<&Digest>,
        address: &Address,
        now: DateTime<Utc>,
    ) -> Self {
        let place = at.and_then(|at| changes.iter().position(|c| c.finding.fingerprint == *at));
        // The stretch with what is looked at in its middle.
        let start = place.map_or(0, |place| place.saturating_sub(STRETCH / 2));
        let start = start.min(changes.len().saturating_sub(STRETCH));
        let end = changes.len().min(start + STRETCH);
        let stretch = changes.get(start..end).unwrap_or_default();
        let mut last: Option<(&str, &str)> = None;
        let items = stretch.iter().map(|change| {
            let tool = (change.tool.server.as_str(), change.tool.tool.as_str());
            let first = last.replace(tool) != Some(tool);
            Item {
                tool: first.then_some(change.tool),
                finding: change.finding,
                href: address.of(&change.finding.fingerprint),
                current: at == Some(&change.finding.fingerprint),
                mark: mark(queue.standing.get(&change.finding.fingerprint).copied(), now),
            }
        });
        let items = items.collect();
        let link = |change: Option<&Change<'_>>| change.map(|c| address.of(&c.finding.fingerprint));
        Self {
            title,
            id,
            means,
            count: changes.len(),
            blocking: changes.iter().filter(|c| queue.blocks(c.finding).is_some()).count(),
            // Whatever breaks is seen, and so is what stands in the way or is looked at.
            open: !matches!(id, "compatible" | "notation")
                || place.is_some()
                || changes.iter().any(|c| queue.blocks(c.finding).is_some()),
            before: link(start.checked_sub(1).and_then(|at| changes.get(at))).map(|href| (start, href)),
            items,
            after: link(changes.get(end)).map(|href| (changes.len() - end, href)),
        }
    }
}

impl<'d> Current<'d> {
    fn new(
        page: &'d ReviewPage,
        queue: &Queue<'d>,
        at: &Digest,
        address: &Address,
        shown: Shown<'d>,
    ) -> Option<Self> {
        let all: Vec<&Change<'d>> = queue.all().collect();
        let place = all.iter().position(|c| c.finding.fingerprint == *at)?;
        let Change { report, tool, finding } = **all.get(place)?;
        let standing = queue.standing.get(at).copied();
        let neighbour = |place: Option<usize>| {
            place.and_then(|place| all.get(place)).map(|c| address.of(&c.finding.fingerprint))
        };
        let ways = [("What changed", Show::Plain), ("JSON", Show::Json), ("Patch", Show::Patch)];
        let member = |content: Option<&'d Content>| content.and_then(|c| member(c, tool));
        Some(Self {
            view: FindingView::new(report, finding),
            status: status(tool.status),
            earlier: (!std::ptr::eq(report, queue.main)).then_some(report.baseline.as_str()),
            from: member(shown.before).map(|m| &m.contract_version),
            to: member(Some(&page.draft.content)).map(|m| &m.contract_version),
            mark: mark(standing, shown.now),
            blocks: standing.and_then(|s| s.blocks),
            decision: standing.and_then(|s| s.decision.as_ref()),
            announced: standing.and_then(|s| s.announced.as_ref()),
            elsewhere: page.elsewhere.iter().filter(|d| d.fingerprint == *at).collect(),
            comments: page.comments.iter().filter(|c| c.fingerprint.as_ref() == Some(at)).collect(),
            siblings: all.iter().filter(|c| c.finding.rule == finding.rule).count() - 1,
            message: finding.witness.as_ref().map(|w| w.as_message(finding.surface, &tool.tool)),
            place: place + 1,
            previous: neighbour(place.checked_sub(1)),
            next: neighbour(place.checked_add(1)),
            ways: ways.map(|(name, show)| (name, address.shown(at, show), show == address.show)),
            show: address.show,
            lines: shown.lines,
            tool,
        })
    }
}

/// What a content holds of a tool.
pub(super) fn member<'c>(content: &'c Content, tool: &ToolReport) -> Option<&'c Member> {
    let server = |m: &Member| m.server.as_ref().map_or("", |s| s.as_str()) == tool.server;
    content.members.iter().find(|m| m.tool == tool.tool && server(m))
}

fn mark(standing: Option<&Standing>, now: DateTime<Utc>) -> Option<Mark> {
    let standing = standing?;
    let mark = |class, glyph, word: &str| Some(Mark { class, glyph, word: word.to_owned() });
    match (standing.blocks, &standing.decision) {
        (Some("absolute"), _) => mark("breaking", "✕", "cannot be accepted"),
        (Some("waiver-expired"), _) => mark("hold", "●", "waiver ended"),
        (_, Some(Decision { ruling: Ruling::Reject, .. })) => mark("breaking", "✕", "rejected"),
        (Some(_), _) => mark("hold", "●", "to decide"),
        (None, Some(decision)) if !decision.is_expired(now) => match decision.expires {
            // Its last day; a waiver ends with it.
            Some(end) => {
                let last = end - TimeDelta::seconds(1);
                mark("compatible", "✓", &format!("waived until {}", last.format("%Y-%m-%d")))
            }
            None => mark("compatible", "✓", "accepted"),
        },
        (None, _) => {
            let over = standing.announced.as_ref().filter(|notice| notice.over);
            over.and_then(|_| mark("compatible", "✓", "announced"))
        }
    }
}
