//! One server's tools: which came, which went, and what changed in those that stayed.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use super::{
    Calls,
    finding::{Assumption, Bump, Finding, Level, Options, Status, Surface, ToolReport, Verdicts, Witness},
    judge::{self, Document, judge},
    rule::{Check, Remark, Tools},
    rules::{
        self, duplicate_tool_name, notation_changed, task_support_changed, tool_added, tool_removed,
        undecided_change,
    },
    succession::{self, Successor},
};
use crate::{
    contract::{Contract, header::without_headers},
    json,
};

/// One tool, judged. No report: it is the same on both sides.
pub(super) struct Compared {
    pub(super) report: Option<ToolReport>,
    pub(super) verdicts: Verdicts,
}

impl Compared {
    fn same() -> Self {
        Self { report: None, verdicts: Verdicts { declared: Level::Compatible, strict: Level::Compatible } }
    }
}

/// Compares the tools of one server; the order of the answer means nothing.
pub(super) fn compare(
    server: &str,
    before: &[&Contract],
    after: &[&Contract],
    options: Options,
    calls: &Calls,
) -> Vec<Compared> {
    let (was, is) = (index(before), index(after));
    let successors = successors((before, &was), (after, &is));
    let judged = |i: usize| {
        let old = before[i];
        if was[&old.name][0] != i {
            return None;
        }
        let calls = calls.of(server, &old.name);
        Some(match is.get(&old.name).map(Vec::as_slice) {
            None => {
                let mut gone =
                    whole(server, old, Status::Removed, tool_removed::remark(old, successors.get(&i)));
                recall(&mut gone, old, options, &calls);
                gone
            }
            Some([new]) if was[&old.name].len() == 1 => release(server, old, after[*new], options, &calls),
            Some(entries) => {
                let entries: Vec<&Contract> = entries.iter().map(|j| after[*j]).collect();
                // Callers may have relied on any entry, and may get any.
                let olds: Vec<&Contract> = was[&old.name].iter().map(|j| before[*j]).collect();
                repeated(server, &olds, &entries, options, &calls)
            }
        })
    };
    // Tools whose texts are the same are told apart without a thread.
    let same = |i: usize| match (was[&before[i].name].as_slice(), is.get(&before[i].name).map(Vec::as_slice))
    {
        ([_], Some([new])) => before[i].same_text(after[*new]),
        _ => false,
    };
    let (unchanged, others): (Vec<usize>, Vec<usize>) = (0..before.len()).partition(|i| same(*i));
    let mut out: Vec<Compared> = unchanged.iter().map(|_| Compared::same()).collect();
    out.extend(in_parallel(others.len(), &|i| judged(others[i])).into_iter().flatten());
    for (i, new) in after.iter().enumerate() {
        if was.contains_key(&new.name) || is[&new.name][0] != i {
            continue;
        }
        let mut compared = whole(server, new, Status::Added, tool_added::remark(new));
        if is[&new.name].len() > 1 {
            let conflicting =
                is[&new.name].iter().any(|j| after[*j].digests().contract != new.digests().contract);
            let remark = duplicate_tool_name::remark(&new.name, is[&new.name].len(), conflicting);
            add(&mut compared, server, &new.name, remark);
        }
        out.push(compared);
    }
    out
}

/// Where each name stands in a list: keeps two long lists from being compared name by name.
type Index = HashMap<String, Vec<usize>>;

fn index(side: &[&Contract]) -> Index {
    let mut map = Index::new();
    for (i, c) in side.iter().enumerate() {
        map.entry(c.name.clone()).or_default().push(i);
    }
    map
}

/// What removed tools look like they became, by their places in `before`. Of a name that stands twice the first counts.
fn successors(
    (before, was): (&[&Contract], &Index),
    (after, is): (&[&Contract], &Index),
) -> HashMap<usize, Successor> {
    let only_in = |own: &Index, other: &Index| -> Vec<usize> {
        let mut places: Vec<usize> =
            own.iter().filter(|(name, _)| !other.contains_key(*name)).map(|(_, places)| places[0]).collect();
        places.sort_unstable();
        places
    };
    let (removed, added) = (only_in(was, is), only_in(is, was));
    let gone: Vec<&Contract> = removed.iter().map(|i| before[*i]).collect();
    let come: Vec<&Contract> = added.iter().map(|i| after[*i]).collect();
    let successors = succession::successors(&gone, &come);
    removed.into_iter().zip(successors).filter_map(|(i, successor)| Some((i, successor?))).collect()
}

/// As much as a main thread has: schemas nest.
const STACK: usize = 8 << 20;

/// Calls `each` for the numbers below `n`, on all cores, and keeps their order. Threads take numbers one by one, since
/// one changed tool can cost more than a hundred unchanged ones.
fn in_parallel<T: Send>(n: usize, each: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let threads =
        if n < 2 { 1 } else { std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(n) };
    if threads < 2 {
        return (0..n).map(each).collect();
    }
    let next = AtomicUsize::new(0);
    let worker = || -> Vec<(usize, T)> {
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|i| *i < n);
        taken.map(|i| (i, each(i))).collect()
    };
    let mut out: Vec<(usize, T)> = std::thread::scope(|scope| {
        let spawn = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker);
        // Where the machine gives no more threads, this one does the work.
        let others: Vec<_> = (1..threads).map_while(|_| spawn().ok()).collect();
        let mut mine = worker();
        for other in others {
            // A panic in a thread is one here as well.
            mine.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        mine
    });
    out.sort_unstable_by_key(|(i, _)| *i);
    out.into_iter().map(|(_, value)| value).collect()
}

/// A tool that is on one side only.
fn whole(server: &str, tool: &Contract, status: Status, remark: Remark) -> Compared {
    let bump = if status == Status::Removed { Bump::Major } else { Bump::Minor };
    let level = remark.level;
    Compared {
        verdicts: Verdicts { declared: level, strict: level },
        report: Some(ToolReport {
            server: server.to_owned(),
            tool: tool.name.clone(),
            status,
            verdict: level,
            required_bump: bump,
            findings: vec![Finding::of(server, &tool.name, remark, None)],
            patch: None,
            calls: None,
        }),
    }
}

/// What the calls of a tool that is gone come to.
fn recall(gone: &mut Compared, tool: &Contract, options: Options, calls: &[&Value]) {
    if let Some(report) = &mut gone.report
        && let Some((tried, witness)) = judge::recorded::of_removed(tool, options, calls)
    {
        report.calls = Some(tried);
        report.findings.iter_mut().for_each(|finding| finding.witness.clone_from(&witness));
    }
}

/// A name that a list gives to several tools: every old entry against every new one, the worst counts.
fn repeated(
    server: &str,
    olds: &[&Contract],
    news: &[&Contract],
    options: Options,
    calls: &[&Value],
) -> Compared {
    let mut worst: Option<Compared> = None;
    for old in olds {
        for new in news {
            let compared = release(server, old, new, options, calls);
            let rank = |c: &Compared| (c.verdicts.declared.max(c.verdicts.strict), c.report.is_some());
            if worst.as_ref().is_none_or(|w| rank(&compared) > rank(w)) {
                worst = Some(compared);
            }
        }
    }
    let mut compared = worst.unwrap_or_else(Compared::same);
    if news.len() > 1 {
        let conflicting = news.iter().any(|n| n.digests().contract != news[0].digests().contract);
        let remark = duplicate_tool_name::remark(&news[0].name, news.len(), conflicting);
        add(&mut compared, server, &news[0].name, remark);
    }
    compared
}

fn add(compared: &mut Compared, server: &str, tool: &str, remark: Remark) {
    let level = remark.level;
    compared.verdicts.declared = compared.verdicts.declared.max(level);
    compared.verdicts.strict = compared.verdicts.strict.max(level);
    let report = compared.report.get_or_insert_with(|| ToolReport {
        server: server.to_owned(),
        tool: tool.to_owned(),
        status: Status::Changed,
        verdict: Level::Compatible,
        required_bump: Bump::None,
        findings: Vec::new(),
        patch: None,
        calls: None,
    });
    report.verdict = report.verdict.max(level);
    if level == Level::Breaking {
        report.required_bump = Bump::Major;
    }
    report.findings.push(Finding::of(server, tool, remark, None));
    report.findings.sort_by_key(|f| std::cmp::Reverse(f.level));
}

/// Two releases of one tool.
fn release(server: &str, old: &Contract, new: &Contract, options: Options, calls: &[&Value]) -> Compared {
    if old.same_raw(new) {
        return Compared::same();
    }
    let mut verdicts = Compared::same().verdicts;
    let mut remarks: Vec<(Remark, Option<Witness>)> = Vec::new();
    let mut tried = None;
    let mut merge = |judged: judge::Judged| {
        tried = tried.or(judged.calls);
        verdicts.declared = verdicts.declared.max(judged.verdicts.declared);
        verdicts.strict = verdicts.strict.max(judged.verdicts.strict);
        remarks.extend(judged.remarks);
    };
    let document = |schema, normal| Document { schema, normal };
    let (was, is) = (old.normal().get("inputSchema"), new.normal().get("inputSchema"));
    let headers_only = was != is && differ_in_headers_only(old, new);
    if let (Some(was), Some(is)) = (was, is)
        && was != is
        && !headers_only
    {
        let (before, after) = (document(old.input_schema(), was), document(new.input_schema(), is));
        merge(judge(Surface::Input, &before, &after, options, calls));
    }
    let (was, is) = (old.normal().get("outputSchema"), new.normal().get("outputSchema"));
    if let (Some(before), Some(after), Some(was), Some(is)) =
        (old.output_schema(), new.output_schema(), was, is)
        && was != is
    {
        merge(judge(Surface::Output, &document(before, was), &document(after, is), options, &[]));
    }
    let mut told = Vec::new();
    for rule in rules::all() {
        if let Check::Tool(check) = rule.check {
            check(&Tools { baseline: old, candidate: new }, &mut told);
        }
    }
    // Numbers that a value cannot keep can hide a change from everything above.
    let lost = |c: &Contract| -> Vec<String> {
        c.inexact_numbers().iter().filter(|n| !json::is_kept(n)).map(ToString::to_string).collect()
    };
    if lost(old) != lost(new) {
        told.push(undecided_change::remark(
            Surface::Input,
            "it holds numbers too large or too fine to compare exactly",
        ));
    }
    let mut witnesses = Vec::new();
    if !calls.is_empty()
        && (headers_only || told.iter().any(|remark| remark.refused.is_some()))
        && let Some((count, shown)) = judge::recorded::of_refused((old, new), options, calls, &told)
    {
        tried = Some(count);
        witnesses = shown;
    }
    for (remark, witness) in told.into_iter().zip(witnesses.into_iter().chain(std::iter::repeat(None))) {
        let holds = |assumption| remark.only.is_none_or(|only| only == assumption) || witness.is_some();
        if holds(Assumption::Declared) {
            verdicts.declared = verdicts.declared.max(remark.level);
        }
        if holds(Assumption::Strict) {
            verdicts.strict = verdicts.strict.max(remark.level);
        }
        if holds(options.assume) {
            remarks.push((remark, witness));
        }
    }
    if remarks.is_empty() {
        remarks.push((notation_changed::remark(Surface::Input), None));
    }
    let bump = required_bump(old, new, &remarks);
    remarks.sort_by_key(|(r, _)| std::cmp::Reverse(r.level));
    let verdict = remarks.first().map_or(Level::Compatible, |(r, _)| r.level);
    let patch = (!old.same_contract(new))
        .then(|| serde_json::to_value(json_patch::diff(old.normal(), new.normal())).unwrap_or(Value::Null));
    Compared {
        verdicts,
        report: Some(ToolReport {
            server: server.to_owned(),
            tool: old.name.clone(),
            status: Status::Changed,
            verdict,
            required_bump: bump,
            findings: remarks.into_iter().map(|(r, w)| Finding::of(server, &old.name, r, w)).collect(),
            patch,
            calls: tried,
        }),
    }
}

/// Whether two tools take the same arguments by the letter, and say something else of headers: rules of their own judge
/// that.
fn differ_in_headers_only(old: &Contract, new: &Contract) -> bool {
    let arguments = |tool: &Contract| tool.normal().get("inputSchema").map(without_headers);
    !(old.headers().is_empty() && new.headers().is_empty()) && arguments(old) == arguments(new)
}

fn required_bump(old: &Contract, new: &Contract, remarks: &[(Remark, Option<Witness>)]) -> Bump {
    let worst = remarks.iter().map(|(r, _)| r.level).max().unwrap_or(Level::Compatible);
    let notation =
        remarks.iter().all(|(r, _)| r.rule == notation_changed::ID || r.surface == Surface::Presentation);
    let contract = !old.same_contract(new) || remarks.iter().any(|(r, _)| r.rule == task_support_changed::ID);
    match worst {
        // What is not proved compatible is versioned as a break.
        Level::Breaking | Level::Undecided => Bump::Major,
        _ if !notation && contract => Bump::Minor,
        _ if !old.same_presentation(new) => Bump::Patch,
        _ if remarks.iter().any(|(r, _)| r.surface == Surface::Presentation) => Bump::Patch,
        _ => Bump::None,
    }
}
