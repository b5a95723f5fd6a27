//! The crate `jsoncompat` and this one, asked the same questions of real input schemas that changed: are all values of the
//! baseline values of the candidate?
//!
//! Both are handed the parsed JSON, build what they need from it, and answer yes, no with a value that shows it, or
//! unknown. They take turns in a process of their own, which is ended where one of them does not answer in time.

#[path = "../support/corpus.rs"]
mod corpus;
#[path = "../support/times.rs"]
mod times;

use std::{
    array,
    collections::BTreeMap,
    env,
    io::{self, BufRead, BufReader, Write},
    panic::{self, AssertUnwindSafe},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use corpus::pairs;
use jsoncompat::{CompatibilityResult, Role, SchemaDocument, analyze_compat};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use times::{ROUNDS, row, timed};
use toolpact::schema::{self, Answer, Schema};

/// The allocator of the program, for both.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// One answer may take this long.
const CAP: Duration = Duration::from_secs(2);

/// An answer that took longer is not asked for again: it can be told from what else the machine does.
const LONG: Duration = Duration::from_millis(50);

/// Names shown of pairs on which the two disagree.
const SHOWN: usize = 10;

/// Who is asked, in the order of their turns.
const NAMES: [&str; 2] = ["toolpact", "jsoncompat"];

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Said {
    Contained,
    Refuted,
    Unknown,
    /// The schema is none to it, or of a dialect that it does not read.
    Refused,
    Panicked,
    /// The process ended.
    Died,
    OverTime,
}

impl Said {
    fn decided(self) -> bool {
        matches!(self, Self::Contained | Self::Refuted)
    }
}

/// A line from the process that answers.
#[derive(Serialize, Deserialize)]
enum Line {
    /// One answer, and in it the value of a refutation.
    Answer { who: usize, said: Said, nanos: u64, value: Option<Value> },
    /// Nothing more comes for this pair.
    Done,
}

/// What is known of one pair.
struct Asked {
    name: String,
    said: [Said; 2],
    time: [Duration; 2],
    /// Whether the validators of each say of the other's value that the baseline accepts it and the candidate does not.
    confirmed: Option<bool>,
}

fn ours(baseline: &Value, candidate: &Value) -> (Said, Option<Value>) {
    let (Ok(before), Ok(after)) = (Schema::new(baseline), Schema::new(candidate)) else {
        return (Said::Refused, None);
    };
    match schema::contained(&before, &after, &[]) {
        Answer::Contained(_) => (Said::Contained, None),
        Answer::Refuted(mut found) => (Said::Refuted, Some(found.swap_remove(0).value)),
        Answer::Unknown(_) => (Said::Unknown, None),
    }
}

/// `Role::Serializer` asks whether all values of its second document are values of its first. The other role is another
/// question: it leaves out values with properties that are not declared.
fn theirs(baseline: &Value, candidate: &Value) -> (Said, Option<Value>) {
    let answer = || {
        let (before, after) = (SchemaDocument::from_json(baseline)?, SchemaDocument::from_json(candidate)?);
        analyze_compat(&after, &before, Role::Serializer)
    };
    match panic::catch_unwind(AssertUnwindSafe(answer)) {
        Ok(Ok(CompatibilityResult::Compatible)) => (Said::Contained, None),
        Ok(Ok(CompatibilityResult::Incompatible { counterexample, .. })) => {
            (Said::Refuted, Some(counterexample))
        }
        Ok(Ok(CompatibilityResult::Unknown { .. })) => (Said::Unknown, None),
        Ok(Err(_)) => (Said::Refused, None),
        Err(_) => (Said::Panicked, None),
    }
}

/// Answers pairs, a line each, until there are no more.
fn answer() -> io::Result<()> {
    panic::set_hook(Box::new(|_| {}));
    let mut out = io::stdout().lock();
    let mut tell = |line: &Line| -> io::Result<()> {
        serde_json::to_writer(&mut out, line)?;
        out.write_all(b"\n")?;
        out.flush()
    };
    for line in io::stdin().lock().lines() {
        let (baseline, candidate): (Value, Value) = serde_json::from_str(&line?)?;
        let mut long = [false; 2];
        for _ in 0..ROUNDS {
            for (who, ask) in [ours, theirs].into_iter().enumerate() {
                if long[who] {
                    continue;
                }
                let (time, (said, value)) = timed(|| ask(&baseline, &candidate));
                long[who] = time > LONG;
                let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                tell(&Line::Answer { who, said, nanos, value })?;
            }
        }
        tell(&Line::Done)?;
    }
    Ok(())
}

/// The process that answers, and what it says.
struct Answerer {
    process: Child,
    asked: ChildStdin,
    lines: Receiver<Line>,
}

impl Answerer {
    fn start() -> Self {
        let program = env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command.arg(ANSWER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("this program starts");
        let (asked, said) = (process.stdin.take(), process.stdout.take());
        let (sender, lines) = mpsc::channel();
        let said = BufReader::new(said.expect("it is piped"));
        thread::spawn(move || {
            let lines = said.lines().map_while(Result::ok).map_while(|l| serde_json::from_str(&l).ok());
            lines.map_while(|line| sender.send(line).ok()).for_each(drop);
        });
        Self { process, asked: asked.expect("it is piped"), lines }
    }

    /// Asks one pair. Where the process does not answer, another takes its place.
    fn ask(&mut self, name: &str, baseline: &Value, candidate: &Value) -> Asked {
        let mut heard: [Option<(Said, Duration, Option<Value>)>; 2] = Default::default();
        let line = serde_json::to_string(&(baseline, candidate)).expect("JSON");
        // A process that is gone says so below.
        let _ = writeln!(self.asked, "{line}");
        let missing = loop {
            match self.lines.recv_timeout(CAP) {
                Ok(Line::Answer { who, said, nanos, value }) => {
                    let time = Duration::from_nanos(nanos);
                    let best = heard[who].as_ref().map_or(time, |(_, best, _)| time.min(*best));
                    heard[who] = Some((said, best, value));
                }
                Ok(Line::Done) => break None,
                Err(mpsc::RecvTimeoutError::Timeout) => break Some(Said::OverTime),
                Err(mpsc::RecvTimeoutError::Disconnected) => break Some(Said::Died),
            }
        };
        if missing.is_some() {
            let _ = self.process.kill();
            let _ = self.process.wait();
            *self = Self::start();
        }
        let confirmed = confirmed(&heard, baseline, candidate);
        let said = |who: usize| heard[who].as_ref().map_or(missing.unwrap_or(Said::Died), |(said, ..)| *said);
        let time = |who: usize| heard[who].as_ref().map_or(CAP, |(_, time, _)| *time);
        let name = name.to_owned();
        Asked { name, said: array::from_fn(said), time: array::from_fn(time), confirmed }
    }
}

/// Where one proved what the other refuted: whether the refuting value holds before the validators of the one that proved.
fn confirmed(
    heard: &[Option<(Said, Duration, Option<Value>)>; 2],
    baseline: &Value,
    candidate: &Value,
) -> Option<bool> {
    match heard {
        [Some((Said::Refuted, _, Some(value))), Some((Said::Contained, ..))] => {
            let valid = |schema| SchemaDocument::from_json(schema).and_then(|s| s.is_valid(value)).ok();
            Some(valid(baseline)? && !valid(candidate)?)
        }
        [Some((Said::Contained, ..)), Some((Said::Refuted, _, Some(value)))] => {
            let valid = |schema| Schema::new(schema).ok()?.accepts(value);
            Some(valid(baseline)? && !valid(candidate)?)
        }
        _ => None,
    }
}

/// The argument that makes this program the one that answers.
const ANSWER: &str = "answer";

fn main() -> io::Result<()> {
    if env::args().nth(1).is_some_and(|argument| argument == ANSWER) {
        return answer();
    }
    let mut pairs: Vec<(String, Value, Value)> = pairs()
        .into_iter()
        .filter_map(|pair| {
            let (baseline, candidate) = pair.input_schemas()?;
            Some((pair.name, baseline, candidate))
        })
        .collect();
    println!("as their authors wrote them:");
    report(&asked(&pairs)?);
    // Half of the real schemas name an older dialect, which the other does not read.
    for schema in pairs.iter_mut().flat_map(|(_, baseline, candidate)| [baseline, candidate]) {
        schema.as_object_mut().map(|members| members.remove("$schema"));
    }
    pairs.retain(|(_, baseline, candidate)| baseline != candidate);
    println!("\nwithout `$schema`, so that both take all of them for 2020-12:");
    report(&asked(&pairs)?);
    Ok(())
}

fn asked(pairs: &[(String, Value, Value)]) -> io::Result<Vec<Asked>> {
    let mut answerer = Answerer::start();
    let asked =
        pairs.iter().map(|(name, baseline, candidate)| answerer.ask(name, baseline, candidate)).collect();
    drop(answerer.asked);
    answerer.process.wait()?;
    Ok(asked)
}

fn report(asked: &[Asked]) {
    println!("{} changed input schemas", asked.len());
    for (who, name) in NAMES.iter().enumerate() {
        let mut counts: BTreeMap<Said, usize> = BTreeMap::new();
        for pair in asked {
            *counts.entry(pair.said[who]).or_default() += 1;
        }
        let decided = asked.iter().filter(|pair| pair.said[who].decided()).count();
        let total: Duration = asked.iter().map(|pair| pair.time[who]).sum();
        println!("{name}: {decided} decided in {:.2} s for all: {counts:?}", total.as_secs_f64());
    }
    let only = |who: usize| {
        asked.iter().filter(|pair| pair.said[who].decided() && !pair.said[1 - who].decided()).count()
    };
    println!("decided by one only: {} {}, {} {}", NAMES[0], only(0), NAMES[1], only(1));
    let both = asked.iter().filter(|p| p.said.iter().all(|said| said.decided()));
    let (agreed, disagreed): (Vec<&Asked>, Vec<&Asked>) = both.partition(|p| p.said[0] == p.said[1]);
    println!("decided by both: {} alike, {} not", agreed.len(), disagreed.len());
    for pair in disagreed.iter().take(SHOWN) {
        let (refuted, proved) = if pair.said[0] == Said::Refuted { (0, 1) } else { (1, 0) };
        let word = match pair.confirmed {
            Some(true) => "accept by the baseline and reject by the candidate",
            Some(false) => "do not confirm",
            None => "cannot judge",
        };
        let (refuted, proved) = (NAMES[refuted], NAMES[proved]);
        println!("  {}: refuted by {refuted} with a value that the validators of {proved} {word}", pair.name);
    }
    compared("pairs decided by both", &agreed);
    for (said, what) in [(Said::Contained, "pairs proved by both"), (Said::Refuted, "pairs refuted by both")]
    {
        compared(what, &agreed.iter().copied().filter(|p| p.said[0] == said).collect::<Vec<_>>());
    }
}

/// Both sides' times, and how many times the other's ours goes into.
fn compared(what: &str, pairs: &[&Asked]) {
    if pairs.is_empty() {
        return;
    }
    for (who, name) in NAMES.iter().enumerate() {
        row(&format!("{what}, {name}"), pairs.iter().map(|p| (p.time[who], p.name.as_str())).collect());
    }
    let median = |of: &dyn Fn(&Asked) -> f64| {
        let mut all: Vec<f64> = pairs.iter().map(|p| of(p)).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let seconds = |pair: &Asked, who: usize| pair.time[who].as_secs_f64().max(1e-9);
    let sum = |who: usize| pairs.iter().map(|p| seconds(p, who)).sum::<f64>();
    println!(
        "  jsoncompat takes {:.1} times as long by the medians, {:.1} by the median of each pair's ratio, {:.1} by the sums",
        median(&|p| seconds(p, 1)) / median(&|p| seconds(p, 0)),
        median(&|p| seconds(p, 1) / seconds(p, 0)),
        sum(1) / sum(0),
    );
}
