//! The whole story by the command line, each step a process of its own.

use serde_json::Value;

use super::version_in;
use crate::{
    cli::{BLOCKED, INVALID, PASSED},
    command::User,
    story::{Act, End, Face, Got, ORDERS, SETTINGS, Server, tell},
};

struct Cli {
    user: User,
    server: Server,
    versions: Vec<String>,
    /// What the draft held that was read last.
    read: String,
}

impl Cli {
    fn run(&mut self, who: &str, args: &[&str]) -> Got {
        let ended = self.user.run(&[args, &["--actor", who]].concat());
        let said = ended.stdout.clone() + &ended.stderr;
        let end = match (ended.code, args[0]) {
            (PASSED, "approve") if !said.contains("is approved as") => End::Waits,
            (PASSED, _) => End::Done,
            // What a rehearsal found is an answer, and no error.
            (BLOCKED, _) if ended.stderr.is_empty() => End::Blocked,
            (code, _) => End::Refused(code),
        };
        if end == End::Done && args[0] == "approve" {
            self.versions.push(version_in(&said));
        }
        Got { end, said }
    }

    fn moves(&mut self, who: &str, verb: &str, environment: &str, version: usize, more: &[&str]) -> Got {
        let version = self.versions[version].clone();
        self.run(who, &[&[verb, environment, &version, "--reason", "because"], more].concat())
    }
}

impl Face for Cli {
    fn acts(&mut self, who: &str, act: Act) -> Got {
        let reason = ["--reason", "because"];
        match act {
            Act::Deploys(release) => {
                self.server.deploys(release);
                Got { end: End::Done, said: String::new() }
            }
            Act::Registers => {
                let [program, script] = self.server.command();
                let ended =
                    self.user.run(&["--actor", who, "servers", "add", ORDERS, "--", &program, &script]);
                Got { end: End::Done, said: ended.code(PASSED).stdout }
            }
            Act::Snapshots => self.run(who, &["snapshot", ORDERS]),
            Act::Settles => {
                self.user.file("orders.yaml", SETTINGS);
                self.run(who, &["apply", "orders.yaml"])
            }
            Act::Drafts => self.run(who, &["draft", ORDERS]),
            Act::Reads(draft) => {
                let got = self.run(who, &["show", ORDERS, &draft.to_string()]);
                let held = got.said.lines().find_map(|line| line.strip_prefix("it holds "));
                self.read = held.expect("it says what it holds").to_owned();
                got
            }
            Act::Remarks(draft) => self.run(who, &["comment", ORDERS, &draft.to_string(), "who cancels?"]),
            Act::Waives(draft, rule, end) => {
                let id = draft.to_string();
                let rule = ["--draft", &id, "--rule", rule, "--until", end, "--owner", "team-orders"];
                self.run(who, &[&["decide", ORDERS, "accept"], &rule[..], &reason[..]].concat())
            }
            Act::AcceptsRest(draft) => {
                let shown = self.run(who, &["show", ORDERS, &draft.to_string()]).said;
                let open = shown.lines().filter(|line| line.contains("  open: "));
                let open: Vec<&str> = open.filter_map(|line| line.split_whitespace().next()).collect();
                self.run(who, &[&["decide", ORDERS, "accept"], &open[..], &reason[..]].concat())
            }
            Act::Rules(environment, draft, rule, ruling) => {
                let id = draft.to_string();
                let rule = ["--draft", &id, "--rule", rule, "--environment", environment];
                self.run(who, &[&["decide", ORDERS, ruling], &rule[..], &reason[..]].concat())
            }
            Act::TakesOut(draft, tool) => {
                self.run(who, &["edit", ORDERS, &draft.to_string(), "--without", tool])
            }
            Act::Approves(draft) => {
                self.run(who, &["approve", ORDERS, &draft.to_string(), reason[0], reason[1]])
            }
            Act::ApprovesAsRead(draft) => {
                let (draft, read) = (draft.to_string(), self.read.clone());
                self.run(who, &["approve", ORDERS, &draft, reason[0], reason[1], "--digest", &read])
            }
            Act::Rehearses(environment, version) => {
                self.moves(who, "promote", environment, version, &["--dry-run"])
            }
            Act::Promotes(environment, version) => self.moves(who, "promote", environment, version, &[]),
            Act::PromotesAnyway(environment, version) => {
                self.moves(who, "promote", environment, version, &["--record-probe"])
            }
            Act::RollsBack(environment, version) => self.moves(who, "rollback", environment, version, &[]),
            Act::RollsBackFrom(seen, environment, version) => {
                self.moves(who, "rollback", environment, version, &["--generation", &seen.to_string()])
            }
            Act::RollsBackAnyway(environment, version) => {
                self.moves(who, "rollback", environment, version, &["--emergency"])
            }
            Act::Releases(environment) => self.run(who, &["release", environment, reason[0], reason[1]]),
            Act::Freezes(environment) => self.run(who, &["freeze", environment, reason[0], reason[1]]),
            Act::Unfreezes(environment) => self.run(who, &["unfreeze", environment, reason[0], reason[1]]),
        }
    }

    /// No code is said, but the command or flag that goes on.
    fn refusal(&self, status: u16, code: &str) -> (i32, String) {
        let next = match code {
            "held" => "`toolpact release",
            "not-served" => "`--record-probe`",
            "frozen" => "emergency",
            "policy-blocks" => "`toolpact decide orders accept CHANGE",
            _ => "",
        };
        (if matches!(status, 400 | 404) { INVALID } else { BLOCKED }, next.to_owned())
    }

    fn events(&mut self) -> Vec<Value> {
        let log = self.user.run(&["log", "--limit", "1000", "--format", "json"]).code(PASSED);
        let mut events: Vec<Value> = serde_json::from_str(&log.stdout).expect("JSON");
        events.reverse();
        events
    }

    fn versions(&self) -> &[String] {
        &self.versions
    }

    fn chain_holds(&mut self) -> bool {
        self.user.run(&["audit", "verify"]).code(PASSED).stdout.contains("the chain holds")
    }
}

#[test]
fn the_whole_story_is_told_by_the_command_line() {
    let user = User::with_database();
    tell(Cli { user, server: Server::new(), versions: Vec::new(), read: String::new() });
}
