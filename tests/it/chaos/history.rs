//! Whether what clients saw and what the database holds is one history, in one order, of moves that each happened once.
//!
//! Pure: it is given what was seen and what is kept, and answers everything that does not fit. Clients tell a call by its
//! key, which is its `Idempotency-Key` and its reason, so that moves and events say whose they are. What it looks for is in
//! the variants of [`Fault`].

use std::collections::{BTreeMap, BTreeSet};

/// A moment, as all clients count them together: what ended before something else began has the smaller one.
pub(super) type Tick = u64;

/// What was asked for, or done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Promote,
    Rollback,
    Release,
}

/// One thing that a client wanted done, and every try of it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) key: String,
    pub(super) verb: Verb,
    pub(super) environment: String,
    /// The generation that it was made from.
    pub(super) seen: i64,
    /// Where to; of a release, what was held.
    pub(super) version: String,
    pub(super) tries: Vec<Try>,
}

/// One request and its end.
#[derive(Debug, Clone)]
pub(super) struct Try {
    pub(super) began: Tick,
    pub(super) ended: Tick,
    pub(super) end: End,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// It was done; of a move, with what was answered.
    Done(Option<Moved>),
    /// It was refused, with this code.
    Refused(String),
    /// Nobody knows: no answer, half of one, or one that says to ask again.
    Unknown,
}

/// A move as it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) generation: i64,
    pub(super) from: Option<String>,
    pub(super) to: String,
}

/// An environment as a client read it.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) environment: String,
    pub(super) began: Tick,
    pub(super) ended: Tick,
    /// 0 where nothing was ever live.
    pub(super) generation: i64,
    pub(super) version: Option<String>,
}

/// What clients saw.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) calls: Vec<Call>,
    pub(super) reads: Vec<Read>,
    /// Answers that no run should bring: a status or code that nobody asked for.
    pub(super) odd: Vec<String>,
}

/// A move as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) environment: String,
    pub(super) verb: Verb,
    pub(super) moved: Moved,
    pub(super) reason: String,
    /// The key that its answer is kept under.
    pub(super) key: Option<String>,
}

/// An event of a move or a release, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) seq: i64,
    pub(super) environment: String,
    pub(super) verb: Verb,
    /// Of a release: the generation it was made at, and what was held as `to`.
    pub(super) moved: Moved,
    pub(super) reason: String,
}

/// What the database holds in the end.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    /// In whatever order.
    pub(super) moves: Vec<Move>,
    /// In the order of the log.
    pub(super) events: Vec<Event>,
    /// Environment, generation and version.
    pub(super) pointers: Vec<(String, i64, String)>,
    /// Environment and version.
    pub(super) holds: BTreeSet<(String, String)>,
    /// Where the chain of events breaks.
    pub(super) broken: Option<String>,
}

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// It was acknowledged, and is not kept.
    Lost,
    /// It is kept more than once.
    Doubled,
    /// It is kept otherwise than it was acknowledged or asked for, or two tries were answered differently.
    Altered,
    /// It was refused for good, and is kept.
    RefusedYetKept,
    /// Nobody asked for it.
    Unasked,
    /// A generation is missing between others, or there twice.
    Gap,
    /// A move does not start where the one before it ended, or the pointer does not stand where the last one did.
    Chain,
    /// What ended before something else began is kept behind it.
    Reordered,
    /// A read went back behind what was acknowledged or read before, or is of nothing that was.
    Backwards,
    /// Something held was moved to, something else than what is held was released, or other versions are held in the end
    /// than rollbacks and releases left.
    Hold,
    /// A move without its one event, or the other way round; or the chain of events is broken.
    Audit,
    /// An answer that no run should bring.
    Odd,
}

/// One thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    pub(super) fault: Fault,
    pub(super) what: String,
}

/// Everything that does not fit.
pub(super) fn check(history: &History, kept: &Kept) -> BTreeSet<Violation> {
    let mut found = Found::default();
    for odd in &history.odd {
        found.add(Fault::Odd, odd.clone());
    }
    let moves = by_generation(&kept.moves);
    generations(&moves, kept, &mut found);
    calls(history, kept, &mut found);
    real_time(history, kept, &mut found);
    for (environment, moves) in &moves {
        reads(environment, history, moves, &mut found);
    }
    holds(kept, &mut found);
    audit(&moves, kept, &mut found);
    found.0
}

#[derive(Default)]
struct Found(BTreeSet<Violation>);

impl Found {
    fn add(&mut self, fault: Fault, what: String) {
        self.0.insert(Violation { fault, what });
    }
}

type ByGeneration<'k> = BTreeMap<&'k str, Vec<&'k Move>>;

fn by_generation(moves: &[Move]) -> ByGeneration<'_> {
    let mut sorted: ByGeneration<'_> = BTreeMap::new();
    for m in moves {
        sorted.entry(&m.environment).or_default().push(m);
    }
    for moves in sorted.values_mut() {
        moves.sort_by_key(|m| m.moved.generation);
    }
    sorted
}

/// Generations are 1, 2, 3 …, each move starts where the one before it ended, and the pointer stands where the last did.
fn generations(moves: &ByGeneration<'_>, kept: &Kept, found: &mut Found) {
    for (environment, moves) in moves {
        let mut before: Option<&Moved> = None;
        for m in moves {
            let at = format!("`{environment}` at generation {}", m.moved.generation);
            let expected = before.map_or(1, |b| b.generation + 1);
            if m.moved.generation != expected {
                found.add(Fault::Gap, format!("{at}: expected was {expected}"));
            }
            if m.moved.from.as_ref() != before.map(|b| &b.to) {
                found.add(Fault::Chain, format!("{at}: {:?} after {before:?}", m.moved));
            }
            before = Some(&m.moved);
        }
        let pointers = kept.pointers.iter().filter(|(of, ..)| of == environment);
        let stands: Vec<_> = pointers.map(|(_, generation, version)| (*generation, version)).collect();
        let ended: Vec<_> = before.iter().map(|b| (b.generation, &b.to)).collect();
        if stands != ended {
            found.add(Fault::Chain, format!("`{environment}` stands at {stands:?}, not at {ended:?}"));
        }
    }
    for (environment, ..) in kept.pointers.iter().filter(|(of, ..)| !moves.contains_key(of.as_str())) {
        found.add(Fault::Chain, format!("`{environment}` stands somewhere, and was never moved"));
    }
}

/// What was acknowledged is kept once and as it was answered, what is unknown at most once, what was refused never; and
/// nothing else is kept.
fn calls(history: &History, kept: &Kept, found: &mut Found) {
    let mut by_key: BTreeMap<&str, Vec<(Verb, &str, &Moved)>> = BTreeMap::new();
    for m in &kept.moves {
        if m.key.as_ref() != Some(&m.reason) {
            found.add(Fault::Altered, format!("the move of {} is kept under key {:?}", m.reason, m.key));
        }
        let key = m.key.as_deref().unwrap_or(&m.reason);
        by_key.entry(key).or_default().push((m.verb, &m.environment, &m.moved));
    }
    for e in kept.events.iter().filter(|e| e.verb == Verb::Release) {
        by_key.entry(&e.reason).or_default().push((e.verb, &e.environment, &e.moved));
    }
    for call in &history.calls {
        let key = &call.key;
        let made = by_key.remove(key.as_str()).unwrap_or_default();
        if made.len() > 1 {
            found.add(Fault::Doubled, format!("{key} is kept {} times", made.len()));
        }
        let done: Vec<_> = call.tries.iter().filter_map(Try::done).collect();
        if !done.is_empty() && made.is_empty() {
            found.add(Fault::Lost, format!("{key} was acknowledged as {:?}", done[0]));
        }
        for (verb, environment, moved) in &made {
            let asked = (call.verb, call.environment.as_str(), &call.version);
            let seen = moved.generation - i64::from(call.verb != Verb::Release);
            if (*verb, *environment, &moved.to) != asked || seen != call.seen {
                found.add(Fault::Altered, format!("{key} is kept as {moved:?}, asked was {call:?}"));
            }
            for answer in done.iter().filter_map(|d| d.as_ref()).filter(|d| d != moved) {
                found.add(Fault::Altered, format!("{key} is kept as {moved:?}, answered was {answer:?}"));
            }
            if done.is_empty() && call.is_refused() {
                found.add(Fault::RefusedYetKept, format!("{key} is kept as {moved:?}: {:?}", call.tries));
            }
        }
        let acknowledged = call.acknowledged().unwrap_or(Tick::MAX);
        let late = |t: &&Try| matches!(t.end, End::Refused(_)) && acknowledged < t.began;
        if let Some(t) = call.tries.iter().find(late) {
            found.add(
                Fault::Altered,
                format!("{key} was acknowledged, and refused when it was asked again: {t:?}"),
            );
        }
        if done.windows(2).any(|pair| pair[0] != pair[1]) {
            found.add(Fault::Altered, format!("{key} was answered as {done:?}"));
        }
    }
    for (key, made) in by_key {
        found.add(Fault::Unasked, format!("{key}: {made:?}"));
    }
}

impl Try {
    fn done(&self) -> Option<&Option<Moved>> {
        match &self.end {
            End::Done(moved) => Some(moved),
            End::Refused(_) | End::Unknown => None,
        }
    }
}

impl Call {
    /// Whether nothing can come of it any more. A generation that has passed does not come back; but what is held may be
    /// released before an earlier try, of which nobody knows, gets its turn.
    fn is_refused(&self) -> bool {
        let refused = |t: &Try| matches!(t.end, End::Refused(_));
        let stale = |t: &Try| matches!(&t.end, End::Refused(code) if code == "stale-generation");
        self.tries.iter().any(stale) || self.tries.iter().all(refused)
    }

    fn began(&self) -> Tick {
        self.tries.iter().map(|t| t.began).min().unwrap_or(Tick::MAX)
    }

    /// When it was known to be done.
    fn acknowledged(&self) -> Option<Tick> {
        self.tries.iter().filter(|t| t.done().is_some()).map(|t| t.ended).min()
    }
}

/// The log is in an order in which nothing comes behind what began only after it was acknowledged.
fn real_time(history: &History, kept: &Kept, found: &mut Found) {
    let calls: BTreeMap<&str, &Call> = history.calls.iter().map(|c| (c.key.as_str(), c)).collect();
    let mut latest: Option<&Call> = None;
    for call in kept.events.iter().filter_map(|e| calls.get(e.reason.as_str())) {
        if let (Some(ended), Some(latest)) = (call.acknowledged(), latest)
            && ended < latest.began()
        {
            let what = format!("{} was done before {} began, and stands behind it", call.key, latest.key);
            found.add(Fault::Reordered, what);
        }
        if latest.is_none_or(|l| l.began() < call.began()) {
            latest = Some(call);
        }
    }
}

/// Every read is of a state that was, and none is older than what was acknowledged or read, by anybody, before it began.
fn reads(environment: &str, history: &History, moves: &[&Move], found: &mut Found) {
    let calls: BTreeMap<&str, &Call> = history.calls.iter().map(|c| (c.key.as_str(), c)).collect();
    let here = || history.reads.iter().filter(|r| r.environment == environment);
    // When which generation was known to be reached.
    let mut reached: Vec<(Tick, i64)> = here().map(|r| (r.ended, r.generation)).collect();
    for m in moves {
        let call = m.key.as_deref().and_then(|key| calls.get(key));
        reached.extend(call.and_then(|c| c.acknowledged()).map(|ended| (ended, m.moved.generation)));
    }
    reached.sort_unstable();
    let mut highest = 0;
    for (_, generation) in &mut reached {
        highest = highest.max(*generation);
        *generation = highest;
    }
    for read in here() {
        let before = reached.partition_point(|(ended, _)| *ended < read.began);
        let floor = before.checked_sub(1).map_or(0, |last| reached[last].1);
        if read.generation < floor {
            found.add(Fault::Backwards, format!("generation {floor} was reached before {read:?}"));
        }
        let m = moves.iter().find(|m| m.moved.generation == read.generation);
        let was = match m {
            None => read.generation == 0 && read.version.is_none(),
            Some(m) => {
                let began = m.key.as_deref().and_then(|key| calls.get(key)).map_or(0, |c| c.began());
                read.version.as_ref() == Some(&m.moved.to) && began < read.ended
            }
        };
        if !was {
            found.add(Fault::Backwards, format!("{read:?} is of {:?}", m.map(|m| &m.moved)));
        }
    }
}

/// What is held is what the log makes of it.
fn holds(kept: &Kept, found: &mut Found) {
    let mut held: BTreeSet<(String, String)> = BTreeSet::new();
    for e in &kept.events {
        let of = |version: &String| (e.environment.clone(), version.clone());
        let is_held = held.contains(&of(&e.moved.to));
        let expected = match e.verb {
            Verb::Promote | Verb::Rollback => !is_held,
            Verb::Release => is_held,
        };
        if !expected {
            found.add(Fault::Hold, format!("event {}: {e:?} where held is {held:?}", e.seq));
        }
        match (e.verb, &e.moved.from) {
            (Verb::Rollback, Some(left)) => _ = held.insert(of(left)),
            (Verb::Release, _) => _ = held.remove(&of(&e.moved.to)),
            (Verb::Promote | Verb::Rollback, _) => {}
        }
    }
    if held != kept.holds {
        found.add(Fault::Hold, format!("held is {:?}, left was {held:?}", kept.holds));
    }
}

/// Each move has its one event, in the same order, and the chain of events holds.
fn audit(moves: &ByGeneration<'_>, kept: &Kept, found: &mut Found) {
    if let Some(broken) = &kept.broken {
        found.add(Fault::Audit, broken.clone());
    }
    let mut told: BTreeMap<&str, Vec<(Verb, &Moved, &str)>> = BTreeMap::new();
    for e in kept.events.iter().filter(|e| e.verb != Verb::Release) {
        told.entry(&e.environment).or_default().push((e.verb, &e.moved, &e.reason));
    }
    let environments: BTreeSet<_> = moves.keys().chain(told.keys()).collect();
    for environment in environments {
        let of = |m: &&'_ Move| (m.verb, m.moved.clone(), m.reason.clone());
        let made: Vec<_> = moves.get(environment).into_iter().flatten().map(of).collect();
        let told = told.get(environment).into_iter().flatten();
        let told: Vec<_> =
            told.map(|(verb, m, reason)| (*verb, (*m).clone(), (*reason).to_owned())).collect();
        if let Some(at) = (0..made.len().max(told.len())).find(|at| made.get(*at) != told.get(*at)) {
            let what = format!("`{environment}`: move {:?}, event {:?}", made.get(at), told.get(at));
            found.add(Fault::Audit, what);
        }
    }
}
