//! Clients that move pointers as others do: they look, decide, ask, and ask again under the same key until they know.

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    history::{Call, End, History, Moved, Read, Tick, Try, Verb},
    http::{Got, Request},
    replicas::Replica,
};

/// What all clients share.
pub(super) struct World {
    pub(super) replicas: Vec<Replica>,
    pub(super) history: Mutex<History>,
    /// How many calls were acknowledged, by all replicas and by each.
    pub(super) acknowledged: watch::Sender<u64>,
    pub(super) acknowledged_by: Vec<AtomicU64>,
    /// Whether no more calls are begun.
    pub(super) over: AtomicBool,
    ticks: AtomicU64,
    /// What clients call with.
    pub(super) token: OnceLock<String>,
}

impl World {
    pub(super) fn new(replicas: Vec<Replica>) -> Self {
        Self {
            acknowledged_by: replicas.iter().map(|_| AtomicU64::new(0)).collect(),
            replicas,
            history: Mutex::default(),
            acknowledged: watch::Sender::new(0),
            over: AtomicBool::new(false),
            ticks: AtomicU64::new(1),
            token: OnceLock::new(),
        }
    }

    /// What clients call with; made before anything goes wrong.
    fn token(&self) -> &str {
        self.token.get().map_or("", String::as_str)
    }

    fn tick(&self) -> Tick {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    /// Notes something in the history.
    fn note(&self, write: impl FnOnce(&mut History)) {
        write(&mut self.history.lock().expect("nobody panicked while writing"));
    }
}

/// Moves in one environment before all go on to the next: what is read holds all moves, and first promotions are raced for
/// as well.
const MOVES_PER_ENVIRONMENT: u64 = 150;
/// Tries of one call. Somebody who does not know by then is an end of its own.
const TRIES: usize = 300;
/// What may be answered to a client that knows what it does; everything else is odd.
const REFUSALS: &[&str] = &["stale-generation", "held", "already-live", "never-live", "not-held"];

pub(super) struct Client {
    world: Arc<World>,
    number: u64,
    calls: u64,
    dice: u64,
    /// A replica that did not answer, and for how many requests it is left alone.
    shunned: (usize, u32),
    /// The last call that was done: now and then it is asked for again, maybe of a process that was not there yet.
    last: Option<(Call, Request)>,
}

impl Client {
    pub(super) fn new(world: Arc<World>, number: u64) -> Self {
        let dice = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { world, number, calls: 0, dice, shunned: (0, 0), last: None }
    }

    pub(super) async fn run(mut self) {
        while !self.world.over.load(Ordering::SeqCst) {
            let acknowledged = *self.world.acknowledged.borrow();
            let environment = format!("ring-{}", acknowledged / MOVES_PER_ENVIRONMENT);
            let Some(seen) = self.look(&environment).await else { continue };
            if let Some(call) = self.decide(environment, &seen) {
                self.ask_again().await;
                self.pursue(call).await;
            }
        }
        self.keep(None);
    }

    /// Asks for what was done once more.
    async fn ask_again(&mut self) {
        let replica = self.choose();
        if self.one_in(4)
            && let Some((mut call, request)) = self.last.take()
        {
            call.tries.extend(self.attempt(&request, replica, false).await.map(|(_, ended)| ended));
            self.last = Some((call, request));
        }
    }

    /// Has another last call; that before it is noted.
    fn keep(&mut self, last: Option<(Call, Request)>) {
        if let Some((call, _)) = std::mem::replace(&mut self.last, last) {
            self.world.note(|h| h.calls.push(call));
        }
    }

    /// Of that many.
    fn below(&mut self, bound: usize) -> usize {
        // xorshift64
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        usize::try_from(self.dice % u64::try_from(bound.max(1)).expect("small")).expect("small")
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    /// A replica to ask, which listens.
    fn choose(&mut self) -> usize {
        let count = self.world.replicas.len();
        let mut at = self.below(count);
        for _ in 0..count {
            let (shunned, left) = &mut self.shunned;
            if *left > 0 && *shunned == at && count > 1 {
                *left -= 1;
            } else if self.world.replicas[at].address_now().is_some() {
                break;
            }
            at = (at + 1) % count;
        }
        at
    }

    /// Reads an environment.
    async fn look(&mut self, environment: &str) -> Option<Value> {
        let replica = self.choose();
        let address = self.world.replicas[replica].address().await;
        let began = self.world.tick();
        let got = Request::get(&format!("/api/v1/environments/{environment}"))
            .with(self.world.token())
            .ask(address, false)
            .await;
        let ended = self.world.tick();
        let item = match got {
            Got::NotSent => return None,
            Got::Answer(200, answer) => answer["items"][0].clone(),
            Got::Answer(404, answer) if answer["code"] == "unknown-environment" => json!({"generation": 0}),
            Got::Nothing | Got::Answer(503, _) => {
                self.shunned = (replica, 20);
                return None;
            }
            Got::Answer(status, answer) => {
                self.world.note(|h| h.odd.push(format!("reading `{environment}`: {status} {answer}")));
                return None;
            }
        };
        let read = Read {
            environment: environment.to_owned(),
            began,
            ended,
            generation: item["generation"].as_i64().unwrap_or(-1),
            version: item["version"].as_str().map(str::to_owned),
        };
        self.world.note(|h| h.reads.push(read));
        Some(item)
    }

    /// What to do where this is how things stand; now and then what makes no sense.
    fn decide(&mut self, environment: String, seen: &Value) -> Option<Call> {
        let generation = seen["generation"].as_i64()?;
        let (verb, versions) = if generation == 0 {
            (Verb::Promote, vec!["2026.11.30".to_owned(), "2026.11.30.1".to_owned()])
        } else {
            let of = |name: &str| -> Vec<String> {
                let listed = seen[name].as_array().into_iter().flatten();
                listed.filter_map(|v| v.as_str().map(str::to_owned)).collect()
            };
            let live = seen["version"].as_str().map(str::to_owned).into_iter().collect();
            match self.below(24) {
                0 => (Verb::Promote, of("holds")),
                1 => (Verb::Promote, live),
                2..9 => (Verb::Release, of("holds")),
                9..16 => (Verb::Rollback, of("rollbackTargets")),
                _ => (Verb::Promote, of("promotable")),
            }
        };
        if versions.is_empty() {
            return None;
        }
        let version = versions[self.below(versions.len())].clone();
        let late = i64::from(generation > 0 && self.one_in(32));
        self.calls += 1;
        let key = format!("{}-{}", self.number, self.calls);
        Some(Call { key, verb, environment, seen: generation - late, version, tries: Vec::new() })
    }

    /// Asks until it is done or refused, or gives up.
    async fn pursue(&mut self, mut call: Call) {
        let verb = match call.verb {
            Verb::Promote => "promote",
            Verb::Rollback => "rollback",
            Verb::Release => "release-hold",
        };
        let body = json!({ "version": call.version, "reason": call.key });
        let path = format!("/api/v1/environments/{}/{verb}", call.environment);
        let request = Request::post(&path, call.seen, &call.key, &body).with(self.world.token());
        let gives_up = self.one_in(16);
        let (mut known, mut done) = (false, false);
        for _ in 0..TRIES {
            let hang_up = self.one_in(12);
            let ends = if self.one_in(12) {
                // Both at once: a retry that overtakes its first try.
                let (first, second) = (self.choose(), self.choose());
                let (first, second) = tokio::join!(
                    self.attempt(&request, first, hang_up),
                    self.attempt(&request, second, false)
                );
                [first, second]
            } else {
                let replica = self.choose();
                [self.attempt(&request, replica, hang_up).await, None]
            };
            for (replica, ended) in ends.into_iter().flatten() {
                match &ended.end {
                    End::Unknown => self.shunned = (replica, 20),
                    End::Done(_) => {
                        self.world.acknowledged_by[replica].fetch_add(1, Ordering::SeqCst);
                        if !known {
                            self.world.acknowledged.send_modify(|n| *n += 1);
                        }
                        (known, done) = (true, true);
                    }
                    End::Refused(_) => known = true,
                }
                call.tries.push(ended);
            }
            // Whoever knows asks again now and then.
            if known && !self.one_in(8) || gives_up && !call.tries.is_empty() {
                break;
            }
        }
        if done {
            self.keep(Some((call, request)));
        } else if !call.tries.is_empty() {
            self.world.note(|h| h.calls.push(call));
        }
    }

    /// One request, where somebody listened.
    async fn attempt(&self, request: &Request, replica: usize, hang_up: bool) -> Option<(usize, Try)> {
        let address = self.world.replicas[replica].address().await;
        let began = self.world.tick();
        let got = request.ask(address, hang_up).await;
        let ended = self.world.tick();
        let end = match got {
            Got::NotSent => return None,
            Got::Nothing | Got::Answer(503, _) => End::Unknown,
            Got::Answer(200, answer) => End::Done(Some(moved(&answer))),
            Got::Answer(204, _) => End::Done(None),
            Got::Answer(status, answer) => match answer["code"].as_str().unwrap_or_default() {
                "busy" | "idempotency-key-in-flight" => End::Unknown,
                code if REFUSALS.contains(&code) => End::Refused(code.to_owned()),
                _ => {
                    self.world.note(|h| h.odd.push(format!("{status} {answer}")));
                    End::Unknown
                }
            },
        };
        Some((replica, Try { began, ended, end }))
    }
}

fn moved(answer: &Value) -> Moved {
    Moved {
        generation: answer["generation"].as_i64().unwrap_or(-1),
        from: answer["from"].as_str().map(str::to_owned),
        to: answer["to"].as_str().unwrap_or_default().to_owned(),
    }
}
