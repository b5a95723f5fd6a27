//! Not tests: the whole story as data, from the first look at a server to a rollback and back. The command line and the API
//! tell the same steps, and the same events stand at the end of either.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::command::script;

/// The catalog, and the server that it holds.
pub(crate) const ORDERS: &str = "orders";

/// What a catalog is set to before anything is drafted.
pub(crate) const SETTINGS: &str = "\
catalog: orders
policy: {approvals: 2}
environments:
  production: {after: staging}
  staging: {after: dev}
  dev: {}
servers: {orders: {}}
";

/// What somebody does. A version is named by its place: 0 is the one that was approved first.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// This release of the server is what runs from now on.
    Deploys(usize),
    Registers,
    Snapshots,
    /// Sets the catalog to [`SETTINGS`].
    Settles,
    Drafts,
    /// Reads a draft, and keeps in mind what it held.
    Reads(i64),
    Remarks(i64),
    /// Accepts what a rule found in a draft, until then.
    Waives(i64, &'static str, &'static str),
    /// Accepts every change of a draft that still stands in the way, for good.
    AcceptsRest(i64),
    /// Accepts or rejects what a rule found in a draft, for one environment alone.
    Rules(&'static str, i64, &'static str, &'static str),
    /// Takes a tool out of a draft.
    TakesOut(i64, &'static str),
    Approves(i64),
    /// Approves what was read, whatever the draft holds by now.
    ApprovesAsRead(i64),
    Rehearses(&'static str, usize),
    Promotes(&'static str, usize),
    /// Whatever the servers serve.
    PromotesAnyway(&'static str, usize),
    RollsBack(&'static str, usize),
    /// From this generation, whatever stands there by now.
    RollsBackFrom(i64, &'static str, usize),
    /// As an emergency.
    RollsBackAnyway(&'static str, usize),
    Releases(&'static str),
    Freezes(&'static str),
    Unfreezes(&'static str),
}

/// What comes of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    Done,
    /// The approval is kept, and others have to approve as well.
    Waits,
    /// A rehearsal: this gate stands in the way.
    Blocked(&'static str),
    /// Status and code of the problem, and words that either face says.
    Refused(u16, &'static str, &'static str),
}

use Act::{
    AcceptsRest, Approves, ApprovesAsRead, Deploys, Drafts, Freezes, Promotes, PromotesAnyway, Reads,
    Registers, Rehearses, Releases, Remarks, RollsBack, RollsBackAnyway, RollsBackFrom, Rules, Settles,
    Snapshots, TakesOut, Unfreezes, Waives,
};
use Then::{Blocked, Done, Refused, Waits};

const STEPS: &[(&str, Act, Then)] = &[
    // What is offered, and what is demanded of it.
    ("mara", Deploys(0), Done),
    ("mara", Registers, Done),
    ("mara", Snapshots, Done),
    ("mara", Settles, Done),
    ("mara", Drafts, Done),
    ("mara", Approves(1), Refused(422, "own-draft", "`d-1`")),
    ("jonas", Approves(1), Waits),
    ("ann", Approves(1), Done),
    ("jonas", Rehearses("dev", 0), Done),
    ("jonas", Rehearses("production", 0), Blocked("order")),
    ("jonas", Promotes("production", 0), Refused(422, "order", "was never live in `staging`")),
    ("jonas", Promotes("dev", 0), Done),
    ("jonas", Promotes("dev", 0), Refused(409, "already-live", "is live in `dev` already, at generation 1")),
    ("jonas", Promotes("staging", 0), Done),
    ("jonas", Promotes("production", 0), Done),
    // The server drifts, and its draft is worked on.
    ("mara", Deploys(1), Done),
    ("mara", Snapshots, Done),
    ("jonas", Approves(2), Refused(422, "policy-blocks", "(and 1 more)")),
    ("ben", Remarks(2), Done),
    ("ben", Waives(2, "tool-removed", "2020-01-01T00:00:00Z"), Refused(400, "bad-expiry", "in the future")),
    ("ben", Waives(2, "tool-removed", "2222-01-31T00:00:00Z"), Done),
    ("jonas", Approves(2), Refused(422, "policy-blocks", "find")),
    ("ben", AcceptsRest(2), Done),
    ("jonas", Approves(2), Waits),
    // What was approved is not what it holds any more.
    ("ann", Reads(2), Done),
    ("ben", TakesOut(2, "export"), Done),
    ("ann", ApprovesAsRead(2), Refused(412, "stale-etag", "draft `d-2`")),
    ("ben", Approves(2), Refused(422, "own-draft", "`d-2`")),
    ("ann", Approves(2), Waits),
    ("jonas", Approves(2), Done),
    ("jonas", Approves(2), Refused(409, "draft-decided", "draft `d-2` is approved already, by ")),
    // Through the environments, and no other way; and only what is served.
    ("jonas", Promotes("production", 1), Refused(422, "order", "was never live in `staging`")),
    ("jonas", Promotes("dev", 1), Done),
    ("mara", Deploys(0), Done),
    ("jonas", Rehearses("staging", 1), Blocked("not-served")),
    ("jonas", Promotes("staging", 1), Refused(422, "not-served", "server `orders` serves otherwise `find`")),
    ("jonas", PromotesAnyway("staging", 1), Done),
    // Back, and not again before somebody says so.
    ("ann", RollsBack("staging", 0), Done),
    ("mara", Deploys(1), Done),
    ("jonas", Promotes("staging", 1), Refused(409, "held", "is held in `staging`")),
    ("jonas", Promotes("production", 1), Refused(422, "order", "is held in `staging`, which comes before")),
    ("ann", Releases("staging"), Done),
    (
        "ann",
        Releases("staging"),
        Refused(409, "not-held", "no version of catalog `orders` is held in `staging`"),
    ),
    ("jonas", Promotes("staging", 1), Done),
    // What is accepted elsewhere need not be accepted here.
    ("ben", Rules("production", 2, "required-added", "reject"), Done),
    ("jonas", Rehearses("production", 1), Blocked("policy-blocks")),
    ("jonas", Promotes("production", 1), Refused(422, "policy-blocks", "for whoever uses `production`")),
    ("ben", Rules("production", 2, "required-added", "accept"), Done),
    ("jonas", Rehearses("production", 1), Done),
    ("jonas", Promotes("production", 1), Done),
    // An emergency, through a freeze.
    ("ann", Freezes("production"), Done),
    ("ann", Freezes("production"), Refused(409, "frozen-already", "`production` is frozen")),
    ("ann", RollsBack("production", 0), Refused(422, "frozen", "`production` is frozen since")),
    (
        "ann",
        RollsBackFrom(1, "production", 0),
        Refused(412, "stale-generation", "`production` is at generation 2 of catalog `orders`, not 1"),
    ),
    ("ann", RollsBackAnyway("production", 0), Done),
    ("jonas", Promotes("production", 1), Refused(409, "held", "is held in `production`")),
    ("ann", Releases("production"), Done),
    ("jonas", Promotes("production", 1), Refused(422, "frozen", "`production` is frozen since")),
    ("ann", Unfreezes("production"), Done),
    ("ann", Unfreezes("production"), Refused(409, "not-frozen", "`production` is not frozen")),
    ("jonas", Promotes("production", 1), Done),
];

/// What the log says of it. Whatever was refused left nothing.
const EVENTS: &str = "\
mara server.registered server/orders
mara snapshot.recorded server/orders
mara catalog.applied catalog/orders
mara draft.created catalog/orders: draft 1
jonas draft.endorsed catalog/orders: draft 1
ann draft.approved catalog/orders: draft 1, version V0
jonas environment.promoted environment/dev: to V0, generation 1
jonas environment.promoted environment/staging: to V0, generation 1
jonas environment.promoted environment/production: to V0, generation 1
mara snapshot.recorded server/orders
mara draft.created catalog/orders: draft 2
ben draft.commented catalog/orders: draft 2
ben change.decided catalog/orders: ruling accept, owner team-orders, expires 2222-01-31T00:00:00Z
ben change.decided catalog/orders: ruling accept
jonas draft.endorsed catalog/orders: draft 2
ben draft.edited catalog/orders: draft 2
ann draft.endorsed catalog/orders: draft 2
jonas draft.approved catalog/orders: draft 2, version V1
jonas environment.promoted environment/dev: from V0, to V1, generation 2, decisions [1,2]
jonas environment.promoted environment/staging: from V0, to V1, generation 2, decisions [1,2], overridden [\"not-served\"]
ann environment.rolled-back environment/staging: from V1, to V0, generation 3, hold V1
ann environment.hold-released environment/staging: released V1, generation 3
jonas environment.promoted environment/staging: from V0, to V1, generation 4, decisions [1,2]
ben change.decided catalog/orders: ruling reject, environment production
ben change.decided catalog/orders: ruling accept, environment production
jonas environment.promoted environment/production: from V0, to V1, generation 2, decisions [1,4]
ann environment.frozen environment/production
ann environment.rolled-back environment/production: from V1, to V0, generation 3, hold V1, overridden [\"frozen\"], emergency true
ann environment.hold-released environment/production: released V1, generation 3
ann environment.unfrozen environment/production
jonas environment.promoted environment/production: from V0, to V1, generation 4, decisions [1,4]
";

/// Of an event's particulars, those that say what was done.
const PARTICULARS: [&str; 14] = [
    "draft",
    "version",
    "ruling",
    "environment",
    "owner",
    "expires",
    "from",
    "to",
    "released",
    "generation",
    "hold",
    "grounds/decisions",
    "grounds/overridden",
    "grounds/emergency",
];

/// How an act ended, as a face says it.
pub(crate) struct Got {
    pub(crate) end: End,
    /// All that was said.
    pub(crate) said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Waits,
    Blocked,
    /// With this status or exit code.
    Refused(i32),
}

/// Who tells the story.
pub(crate) trait Face {
    fn acts(&mut self, who: &str, act: Act) -> Got;
    /// How a refusal of this status and code ends here, and what is said besides.
    fn refusal(&self, status: u16, code: &str) -> (i32, String);
    /// Every event, the oldest first, as they are told to programs.
    fn events(&mut self) -> Vec<Value>;
    /// The versions in the order in which they were approved.
    fn versions(&self) -> &[String];
    /// Whether nobody tampered with the events.
    fn chain_holds(&mut self) -> bool;
}

/// Tells it.
pub(crate) fn tell(mut face: impl Face) {
    for (at, (who, act, then)) in STEPS.iter().enumerate() {
        let Got { end, said } = face.acts(who, *act);
        let (expected, words) = match then {
            Done => (End::Done, vec![]),
            Waits => (End::Waits, vec![]),
            Blocked(gate) => (End::Blocked, vec![(*gate).to_owned()]),
            Refused(status, code, words) => {
                let (number, besides) = face.refusal(*status, code);
                (End::Refused(number), vec![(*words).to_owned(), besides, "help".to_owned()])
            }
        };
        assert_eq!(end, expected, "step {at}: {who} {act:?}: {said}");
        for words in words {
            assert!(said.contains(&words), "step {at}: {who} {act:?}: no {words:?} in {said}");
        }
    }
    let events = face.events();
    let told: String = events.iter().map(|event| line(event, face.versions())).collect();
    assert_eq!(told, EVENTS, "\n{told}");
    assert!(face.chain_holds());
}

/// An event in a line: who did what to which object, and the particulars.
fn line(event: &Value, versions: &[String]) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let mut line = format!("{} {} {}", text("actor"), text("kind"), text("subject"));
    let mut mark = ": ";
    for name in PARTICULARS {
        let Some(value) = event["data"].pointer(&format!("/{name}")) else { continue };
        let name = name.rsplit('/').next().unwrap_or(name);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if value != "null" {
            line += &format!("{mark}{name} {value}");
            mark = ", ";
        }
    }
    // The second of a day begins as the first.
    for (at, version) in versions.iter().enumerate().rev() {
        line = line.replace(version, &format!("V{at}"));
    }
    // What the API records of people says that they came by it.
    line.replace("api:", "") + "\n"
}

/// The server, which lists whatever was deployed last.
pub(crate) struct Server(tempfile::TempDir);

impl Server {
    pub(crate) fn new() -> Self {
        let server = Self(tempfile::tempdir().expect("a folder"));
        let listed = format!(
            r#"printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$(cat '{}')""#,
            server.at("list").display()
        );
        std::fs::write(server.at("server"), script(&listed)).expect("written");
        server
    }

    pub(crate) fn deploys(&self, release: usize) {
        let tool = |name: &str, properties: Value, required: Value| {
            let schema = json!({ "type": "object", "properties": properties, "required": required });
            json!({ "name": name, "inputSchema": schema })
        };
        let find = |states: Value, required| {
            tool("find", json!({ "id": { "type": "string" }, "state": { "enum": states } }), required)
        };
        let tools = match release {
            0 => json!([find(json!(["open", "closed"]), json!([])), tool("cancel", json!({}), json!([]))]),
            _ => json!([
                find(json!(["open", "closed", "archived"]), json!(["id"])),
                tool("export", json!({}), json!([])),
            ]),
        };
        std::fs::write(self.at("list"), json!({ "tools": tools }).to_string()).expect("written");
    }

    /// What starts it.
    pub(crate) fn command(&self) -> [String; 2] {
        ["bash".to_owned(), self.at("server").to_string_lossy().into_owned()]
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
