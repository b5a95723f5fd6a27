//! The whole story by the API. It cannot say where a server is found nor list one, so that is done beside it.

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolpact::{
    app::App,
    catalog::{ServerSource, ServerSpec, document},
    snapshot::Outcome,
};

use crate::{
    ask::{Answer, Ask, answer, get, patch, post, put},
    story::{Act, End, Face, Got, ORDERS, SETTINGS, Server, tell},
    support::{app, is},
};

const CATALOG: &str = "/api/v1/catalogs/orders";

struct Api {
    runtime: Runtime,
    app: App,
    server: Server,
    versions: Vec<String>,
    /// The tag of the draft that was read last.
    read: String,
}

/// What a draft is called in a path.
fn draft(id: i64) -> String {
    format!("{CATALOG}/drafts/{id}")
}

fn environment(name: &str, verb: &str) -> String {
    format!("/api/v1/environments/{name}/{verb}")
}

impl Api {
    fn answer(&self, ask: Ask) -> Answer {
        self.runtime.block_on(answer(&self.app, ask))
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.answer(get(path)).body).expect("JSON")
    }

    fn asks(&mut self, who: &str, ask: Ask) -> Got {
        let Answer { status, body, .. } = self.answer(ask.by(who));
        let read: Value = serde_json::from_str(&body).unwrap_or_default();
        let end = match status.as_u16() {
            202 => End::Waits,
            status if status >= 400 => End::Refused(i32::from(status)),
            _ if read["passes"] == false => End::Blocked,
            _ => End::Done,
        };
        if end == End::Done && read["approvedBy"].is_string() {
            self.versions.push(read["version"].as_str().expect("it has a number").to_owned());
        }
        Got { end, said: body }
    }

    fn approves(&mut self, who: &str, id: i64, seen: &str) -> Got {
        let ask = post(&format!("{}/approve", draft(id)), json!({ "reason": "because" }));
        self.asks(who, ask.header("if-match", seen))
    }

    fn tag(&self, path: &str) -> String {
        self.answer(get(path)).header("etag").to_owned()
    }

    /// Where the pointer stands.
    fn generation(&self, environment: &str) -> i64 {
        let page = self.json(&format!("/api/v1/environments/{environment}"));
        page["items"][0]["generation"].as_i64().unwrap_or_default()
    }

    fn moves(&mut self, who: &str, verb: &str, place: &str, seen: i64, body: Value) -> Got {
        let ask = post(&environment(place, verb), body).header("if-match", &format!("\"{seen}\""));
        self.asks(who, ask)
    }

    fn move_to(&mut self, who: &str, verb: &str, place: &str, version: usize, more: &str) -> Got {
        let mut body = json!({ "version": self.versions[version], "reason": "because" });
        if !more.is_empty() {
            body[more] = json!(true);
        }
        self.moves(who, verb, place, self.generation(place), body)
    }
}

impl Face for Api {
    fn acts(&mut self, who: &str, act: Act) -> Got {
        let because = json!({ "reason": "because" });
        let done = || Got { end: End::Done, said: String::new() };
        match act {
            Act::Deploys(release) => {
                self.server.deploys(release);
                done()
            }
            Act::Registers => {
                let [program, script] = self.server.command();
                let (program, args) = (program.as_str().into(), vec![script.as_str().into()]);
                let source = ServerSource::Stdio { program, args, env: [].into(), cwd: None };
                let spec = ServerSpec::new(is(ORDERS), source);
                self.runtime.block_on(self.app.add_server(spec, false, who)).expect("registered");
                done()
            }
            Act::Snapshots => {
                let taken = self.runtime.block_on(self.app.snapshot_registered(&is(ORDERS), who));
                assert_eq!(taken.expect("recorded").listing.outcome, Outcome::Ok);
                done()
            }
            Act::Settles => {
                let document = document::read(SETTINGS).expect("a document");
                let environments: Vec<Value> = document
                    .environments
                    .iter()
                    .flatten()
                    .map(|(name, policy)| json!({ "name": name, "policy": policy }))
                    .collect();
                let settings = json!({
                    "policy": document.policy, "environments": environments, "servers": [{ "name": ORDERS }],
                });
                self.asks(who, put(CATALOG, settings).header("if-none-match", "*"))
            }
            Act::Drafts => self.asks(who, post(&format!("{CATALOG}/drafts"), json!({}))),
            Act::Reads(id) => {
                self.read = self.tag(&draft(id));
                done()
            }
            Act::Remarks(id) => {
                let remark = json!({ "text": "who cancels?" });
                self.asks(who, post(&format!("{}/comments", draft(id)), remark))
            }
            Act::Waives(id, rule, end) => {
                let waiver = json!({
                    "draft": id, "rule": rule, "ruling": "accept", "expires": end, "owner": "team-orders",
                    "reason": "because",
                });
                self.asks(who, post(&format!("{CATALOG}/decisions"), waiver))
            }
            Act::AcceptsRest(id) => {
                let review = self.json(&format!("{}/review", draft(id)));
                let standing = review["standing"].as_array().expect("changes");
                let open: Vec<&Value> =
                    standing.iter().filter(|s| s["blocks"] == "open").map(|s| &s["change"]).collect();
                let rest = json!({ "changes": open, "ruling": "accept", "reason": "because" });
                self.asks(who, post(&format!("{CATALOG}/decisions"), rest))
            }
            Act::Rules(place, id, rule, ruling) => {
                let decision = json!({
                    "draft": id, "rule": rule, "ruling": ruling, "environment": place, "reason": "because",
                });
                self.asks(who, post(&format!("{CATALOG}/decisions"), decision))
            }
            Act::TakesOut(id, tool) => {
                let held = self.json(&draft(id));
                let members = held["members"].as_array().expect("members");
                let at = members.iter().position(|m| m["tool"] == tool).expect("it holds the tool");
                let operations = json!([{ "op": "remove", "path": format!("/members/{at}") }]);
                let seen = self.tag(&draft(id));
                self.asks(who, patch(&draft(id), operations).header("if-match", &seen))
            }
            Act::Approves(id) => self.approves(who, id, &self.tag(&draft(id))),
            Act::ApprovesAsRead(id) => self.approves(who, id, &self.read.clone()),
            Act::Rehearses(place, version) => {
                let body = json!({ "kind": "promote", "version": self.versions[version] });
                let got = self.moves(who, "preflight", place, self.generation(place), body);
                let answer: Value = serde_json::from_str(&got.said).unwrap_or_default();
                let gates = answer["gates"].as_array().into_iter().flatten();
                let blocking =
                    gates.filter(|gate| gate["passed"] == false).map(|gate| gate["code"].to_string());
                Got { said: blocking.collect(), ..got }
            }
            Act::Promotes(place, version) => self.move_to(who, "promote", place, version, ""),
            Act::PromotesAnyway(place, version) => {
                self.move_to(who, "promote", place, version, "recordProbe")
            }
            Act::RollsBack(place, version) => self.move_to(who, "rollback", place, version, ""),
            Act::RollsBackFrom(seen, place, version) => {
                let body = json!({ "version": self.versions[version], "reason": "because" });
                self.moves(who, "rollback", place, seen, body)
            }
            Act::RollsBackAnyway(place, version) => {
                self.move_to(who, "rollback", place, version, "emergency")
            }
            Act::Releases(place) => self.moves(who, "release-hold", place, self.generation(place), because),
            Act::Freezes(place) => self.asks(who, post(&environment(place, "freeze"), because)),
            Act::Unfreezes(place) => self.asks(who, post(&environment(place, "unfreeze"), because)),
        }
    }

    fn refusal(&self, status: u16, code: &str) -> (i32, String) {
        (i32::from(status), format!(r#""code":"{code}""#))
    }

    fn events(&mut self) -> Vec<Value> {
        let mut events = self.json("/api/v1/events?limit=1000")["items"].as_array().expect("events").clone();
        events.reverse();
        events
    }

    fn versions(&self) -> &[String] {
        &self.versions
    }

    fn chain_holds(&mut self) -> bool {
        self.runtime.block_on(self.app.verify_events()).expect("checked").broken.is_none()
    }
}

#[test]
fn the_whole_story_is_told_by_the_api() {
    let runtime = Runtime::new().expect("a runtime");
    let (app, _store) = runtime.block_on(app());
    tell(Api { runtime, app, server: Server::new(), versions: Vec::new(), read: String::new() });
}
