//! Pointers are linearizable, whatever dies: many clients move them through several processes, which are killed, cut off
//! from their database and started again, and so is the database. In the end every acknowledged move is kept exactly once,
//! in generation order, and none was lost.
//!
//! A run is as long as its moves: what goes wrong goes wrong at a number of acknowledged calls, and nothing waits for a
//! clock but to give up. `TOOLPACT_CHAOS_MOVES` says how many calls; the default is for every day.

mod caught; // the checker before histories that are spoiled by hand
mod clients;
mod history; // the checker: pure
mod http;
mod kept;
mod postgres;
mod proxy;
mod replicas;

use std::{
    collections::BTreeSet,
    env,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use clients::{Client, World};
use history::{End, Fault, History, Violation};
use http::{Got, Request};
use postgres::Server;
use proxy::Network;
use replicas::Replica;
use tokio::task::JoinSet;
use toolpact::app::{App, Place};

use crate::{
    database::{self, Behind, Own},
    support::Noon,
};

const CLIENTS: u64 = 16;
/// Calls where nobody says how many: on a server, and on a file.
const MOVES: (u64, u64) = (300, 200);
/// Calls between two things that go wrong.
const BETWEEN: u64 = 20;
/// Nothing that goes wrong keeps all clients from being answered for so long.
const STALLED: Duration = Duration::from_secs(60);

/// What goes wrong.
#[derive(Debug, Clone, Copy)]
enum Trouble {
    /// `kill -9`, and started again.
    Kill(usize),
    /// Between this replica and the database, for a while.
    Network(usize, Network),
    /// The database itself, stopped in the middle of everything.
    Restart,
}

/// In turn, as often as there is time: of thirteen six are kills, six the network, one the database. The third replica has
/// to recover by itself.
const ON_SERVER: &[Trouble] = &[
    Trouble::Kill(0),
    Trouble::Network(1, Network::Cut),
    Trouble::Kill(1),
    Trouble::Network(2, Network::Silent),
    Trouble::Kill(0),
    Trouble::Network(0, Network::NoAnswerToCommit),
    Trouble::Kill(1),
    Trouble::Restart,
    Trouble::Network(1, Network::HalfClosed),
    Trouble::Kill(0),
    Trouble::Network(2, Network::NoCommit),
    Trouble::Kill(1),
    Trouble::Network(0, Network::Slow),
];

const ON_FILE: &[Trouble] = &[Trouble::Kill(0)];

/// A run and what it is over.
struct Run {
    world: Arc<World>,
    moves: u64,
    troubles: &'static [Trouble],
    server: Option<Server>,
    counts: Counts,
}

/// What went wrong, how often.
#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    networks: u64,
    restarts: u64,
}

impl Run {
    fn new(replicas: Vec<Replica>, troubles: &'static [Trouble], server: Option<Server>) -> Self {
        let usual = if server.is_some() { MOVES.0 } else { MOVES.1 };
        let moves = env::var("TOOLPACT_CHAOS_MOVES").ok().map_or(usual, |n| n.parse().expect("a number"));
        Self { world: Arc::new(World::new(replicas)), moves, troubles, server, counts: Counts::default() }
    }

    /// Lets clients move pointers while things go wrong, until there were enough moves and every replica has recovered.
    async fn go(&mut self) -> History {
        let token = self.world.replicas[0].make_token().await;
        self.world.token.set(token).expect("set once");
        for replica in &self.world.replicas {
            replica.start().await;
        }
        let mut clients = JoinSet::new();
        for number in 0..CLIENTS {
            clients.spawn(Client::new(self.world.clone(), number).run());
        }
        let mut troubles = self.troubles.iter().copied().cycle();
        let mut at = BETWEEN;
        while at < self.moves
            && let Some(trouble) = troubles.next()
        {
            self.reach(at).await;
            self.happens(trouble).await;
            if let Trouble::Network(replica, _) = trouble {
                self.reach(at + BETWEEN / 2).await;
                self.network(replica, Network::Sound);
            }
            at += BETWEEN;
        }
        self.reach(self.moves).await;
        self.all_recover().await;
        self.world.over.store(true, Ordering::SeqCst);
        while let Some(ended) = clients.join_next().await {
            ended.expect("a client panicked");
        }
        for replica in &self.world.replicas {
            replica.kill().await;
        }
        std::mem::take(&mut self.world.history.lock().expect("nobody panicked while writing"))
    }

    async fn happens(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Kill(replica) => {
                self.counts.kills += 1;
                self.world.replicas[replica].kill().await;
                self.world.replicas[replica].start().await;
            }
            Trouble::Network(replica, network) => {
                self.counts.networks += 1;
                self.network(replica, network);
            }
            Trouble::Restart => {
                self.counts.restarts += 1;
                self.server.as_ref().expect("there is a server").restart();
            }
        }
    }

    fn network(&self, replica: usize, network: Network) {
        self.world.replicas[replica].proxy.as_ref().expect("it is behind a proxy").becomes(network);
    }

    /// Waits for that many acknowledged calls.
    async fn reach(&self, count: u64) {
        let mut acknowledged = self.world.acknowledged.subscribe();
        let mut before = *acknowledged.borrow_and_update();
        while before < count {
            match tokio::time::timeout(STALLED, acknowledged.changed()).await {
                Ok(changed) => changed.expect("the world lives"),
                Err(_) => panic!("nothing was acknowledged for {STALLED:?} after {before} calls"),
            }
            before = *acknowledged.borrow_and_update();
        }
    }

    /// Every replica acknowledges something once more, by itself.
    async fn all_recover(&self) {
        let by = |replica: usize| self.world.acknowledged_by[replica].load(Ordering::SeqCst);
        let before: Vec<_> = (0..self.world.replicas.len()).map(by).collect();
        let mut acknowledged = self.world.acknowledged.subscribe();
        let waiting = async {
            while (0..before.len()).any(|replica| by(replica) == before[replica]) {
                acknowledged.changed().await.expect("the world lives");
            }
        };
        if tokio::time::timeout(STALLED, waiting).await.is_err() {
            let now: Vec<_> = (0..before.len()).map(by).collect();
            panic!("a replica did not recover within {STALLED:?}: {before:?} and then {now:?}");
        }
    }
}

/// Says what came of a run, and what does not fit.
async fn judged(run: &Run, history: &History, place: &Place, db: &mut Behind) -> BTreeSet<Violation> {
    let store = place.open().await.unwrap_or_else(|e| panic!("{e}"));
    let app = App::new(store.clone(), Arc::new(Noon));
    let kept = kept::kept(&app, &*store, db).await;
    let violations = history::check(history, &kept);
    let (mut done, mut refused, mut unknown) = (0, 0, 0);
    for call in &history.calls {
        let any = |is: fn(&End) -> bool| call.tries.iter().any(|t| is(&t.end));
        match (any(|e| matches!(e, End::Done(_))), any(|e| matches!(e, End::Refused(_)))) {
            (true, _) => done += 1,
            (false, true) => refused += 1,
            (false, false) => unknown += 1,
        }
    }
    println!(
        "{done} acknowledged, {refused} refused, {unknown} unknown, of {} calls in {} tries; {} reads; {} moves and {} events kept; {:?}; \
         {} violations",
        history.calls.len(),
        history.calls.iter().map(|c| c.tries.len()).sum::<usize>(),
        history.reads.len(),
        kept.moves.len(),
        kept.events.len(),
        run.counts,
        violations.len(),
    );
    violations
}

/// Fails unless all of it is one history.
fn assert_sound(violations: &BTreeSet<Violation>) {
    let first: Vec<_> = violations.iter().take(10).collect();
    assert!(violations.is_empty(), "{} violations, the first: {first:#?}", violations.len());
}

/// One process over a file of its own, and a connection behind its back.
async fn on_file() -> (Own, Run, Behind) {
    let own = Own::new().await;
    kept::four_versions(&own.open(Arc::new(Noon)).await).await;
    let run = Run::new(vec![Replica::on_file(&own.url())], ON_FILE, None);
    let db = own.behind().await;
    (own, run, db)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_where_the_one_process_over_a_file_is_killed() {
    if database::server().is_some() {
        return; // it ran in the other half of tests/run
    }
    let (own, mut run, mut db) = on_file().await;
    let history = run.go().await;
    assert!(run.counts.kills > 0);
    assert_sound(&judged(&run, &history, &own.place(), &mut db).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_where_replicas_their_network_and_their_server_fail() {
    if database::server().is_none() {
        return; // it runs in the other half of tests/run
    }
    let Some(server) = Server::start() else { return };
    let place: Place = server.url().parse().expect("a place");
    App::migrate(&place).await.unwrap_or_else(|e| panic!("{e}"));
    kept::four_versions(&App::open(&place, Arc::new(Noon)).await.unwrap_or_else(|e| panic!("{e}"))).await;
    let mut replicas = Vec::new();
    for _ in 0..3 {
        replicas.push(Replica::on_server(&server.socket()).await);
    }
    let url = server.url();
    let mut run = Run::new(replicas, ON_SERVER, Some(server));
    let history = run.go().await;
    let mut db = Behind::on_server(&url).await;
    assert_sound(&judged(&run, &history, &place, &mut db).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_whose_writes_all_went_silent_recovers_by_itself() {
    if database::server().is_none() {
        return; // it runs in the other half of tests/run
    }
    let Some(server) = Server::start() else { return };
    let place: Place = server.url().parse().expect("a place");
    App::migrate(&place).await.unwrap_or_else(|e| panic!("{e}"));
    kept::four_versions(&App::open(&place, Arc::new(Noon)).await.unwrap_or_else(|e| panic!("{e}"))).await;
    let replica = Replica::on_server(&server.socket()).await;
    let token = replica.make_token().await;
    replica.start().await;
    let address = replica.address().await;
    let ask = |environment: &str| {
        let body = serde_json::json!({ "version": "2026.11.30", "reason": "because" });
        let path = format!("/api/v1/environments/{environment}/promote");
        let request = Request::post(&path, 0, environment, &body).with(&token);
        async move { request.ask(address, false).await }
    };
    // As many writes as the replica begins at once wait for the lock, and then nothing comes back to them.
    let mut db = Behind::on_server(&server.url()).await;
    let locked = "SELECT count(*) FROM (SELECT pg_advisory_lock(x'746f6f6c70616374'::bigint)) AS held";
    assert_eq!(db.number(locked).await, 1);
    let mut asked = JoinSet::new();
    asked.spawn(ask("one"));
    asked.spawn(ask("two"));
    let waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    while db.number(waiting).await < 2 {}
    let proxy = replica.proxy.as_ref().expect("it is behind one");
    proxy.becomes(Network::Silent);
    assert!(asked.join_all().await.iter().all(|got| matches!(got, Got::Nothing)), "nobody knows");
    db.run("SELECT pg_advisory_unlock_all()").await.expect("released");
    proxy.becomes(Network::Sound);
    let recovered = async { while !matches!(ask("three").await, Got::Answer(200, _)) {} };
    assert!(tokio::time::timeout(STALLED, recovered).await.is_ok(), "it did not recover within {STALLED:?}");
    // What nobody knew of is done by now, once, or was undone and is done now.
    for environment in ["one", "two"] {
        let Got::Answer(status, answer) = ask(environment).await else {
            panic!("`{environment}`: no answer")
        };
        assert_eq!((status, &answer["generation"]), (200, &serde_json::json!(1)), "{answer}");
    }
    assert_eq!(db.count("moves").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_forgets_or_lies_is_caught() {
    if database::server().is_some() {
        return; // it ran in the other half of tests/run
    }
    // While it is moved: one move is answered and kept, and the pointer stays where it was.
    let (own, mut run, mut db) = on_file().await;
    db.run(
        "CREATE TRIGGER liar AFTER UPDATE ON pointers WHEN NEW.generation = 7
         BEGIN UPDATE pointers SET version = OLD.version WHERE environment = NEW.environment; END",
    )
    .await
    .expect("made");
    run.moves = 30;
    run.troubles = &[];
    let history = run.go().await;
    let faults = |found: BTreeSet<Violation>| found.into_iter().map(|v| v.fault).collect::<BTreeSet<_>>();
    let found = faults(judged(&run, &history, &own.place(), &mut db).await);
    assert!(found.is_superset(&[Fault::Chain, Fault::Backwards].into()), "{found:?}");
    // Behind its back: an acknowledged move is gone, as if it had never reached the disk.
    db.run(
        "DROP TRIGGER moves_are_kept;
         DELETE FROM idempotency_keys WHERE generation = 9;
         DELETE FROM holds;
         DELETE FROM moves WHERE generation = 9",
    )
    .await
    .expect("done");
    let found = faults(judged(&run, &history, &own.place(), &mut db).await);
    assert!(found.is_superset(&[Fault::Lost, Fault::Gap, Fault::Audit].into()), "{found:?}");
}
