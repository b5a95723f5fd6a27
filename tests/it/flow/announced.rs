//! Deprecate, then remove: what was announced for as long as is promised may go, and nothing else for that.

use std::{collections::BTreeMap, sync::Arc};

use chrono::TimeDelta;
use serde_json::{Value, json, value::RawValue};
use toolpact::{
    app::{
        App, MoveRequest,
        checks::CheckRequest,
        review::{Changes, DecideRequest},
        view::Standing,
    },
    catalog::{CatalogVersion, EnvironmentPointer, MoveKind, Policy, check::BuildContext, review::Ruling},
    diff::{Finding, Report},
};

use super::{orders, refused};
use crate::support::{Hands, is, listing, noon, to};

/// What the server lists: the tools `a` and `b`, of which `b` goes, and the parameter `old` of `a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// Nothing is said of what goes.
    Plain,
    /// That both go.
    Announced,
    /// The same in other words.
    Reworded,
    /// That the tool goes; nothing of the parameter.
    OfTool,
    /// Both are gone.
    Gone,
    /// The same, with a tool more.
    GoneWith(&'static str),
}
use What::{Announced, Gone, GoneWith, OfTool, Plain, Reworded};

impl What {
    fn tools(self) -> Vec<Value> {
        let text = json!({"type": "string"});
        let tool = |name: &str, properties: Value| {
            json!({"name": name, "description": "As ever.", "inputSchema": {
                "type": "object", "properties": properties, "additionalProperties": false,
            }})
        };
        let old = match self {
            Plain | OfTool => json!({"id": text, "old": text}),
            Announced | Reworded => {
                json!({"id": text, "old": {"type": "string", "deprecated": true}})
            }
            Gone | GoneWith(_) => json!({"id": text}),
        };
        let mut tools = vec![tool("a", old)];
        if !matches!(self, Gone | GoneWith(_)) {
            let mut b = tool("b", json!({}));
            if self != Plain {
                b["description"] = json!(if self == Reworded { "Deprecated." } else { "Deprecated: use a." });
            }
            tools.push(b);
        }
        if let GoneWith(name) = self {
            tools.push(tool(name, json!({})));
        }
        tools
    }
}

/// What happens on a day.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A version with this is approved, whatever has to be accepted for it.
    Approved(What),
    /// The same, and the catalog itself calls the tool `b` deprecated.
    Marked(What),
    /// The newest version becomes live there.
    Live(&'static str),
    /// That environment goes back to the version with this number, from 0.
    Back(&'static str, usize),
    /// That environment is moved so often between the first version and the newest.
    Swings(&'static str, usize),
}
use Step::{Approved, Back, Live, Marked, Swings};

/// Days, counted from the one on which every test begins, with what happens on them.
type History = &'static [(i64, Step)];

/// A service in which a history happened.
struct Told {
    app: App,
    clock: Hands,
    versions: Vec<CatalogVersion>,
}

impl Told {
    /// With these members of the catalog's document.
    async fn new(history: History, settings: &str) -> Self {
        let clock = Hands::at_noon();
        let app = App::new(crate::database::store().await, Arc::new(clock.clone()));
        let mut told = Self { app, clock, versions: Vec::new() };
        let mut day = 0;
        for (at, step) in history {
            told.clock.by(TimeDelta::days(at - day));
            day = *at;
            told.happens(*step).await;
            if told.versions.len() == 1 {
                let document = format!("catalog: orders\n{settings}\n");
                told.app.apply("orders.yaml", &document, "ann").await.expect("applied");
            }
        }
        told.clock.by(TimeDelta::days(-day));
        told
    }

    /// On this day, counted from the first.
    async fn on<T>(&self, day: i64, then: impl AsyncFnOnce(&Self) -> T) -> T {
        self.clock.by(TimeDelta::days(day));
        let answer = then(self).await;
        self.clock.by(TimeDelta::days(-day));
        answer
    }

    async fn happens(&mut self, step: Step) {
        let app = &self.app;
        match step {
            Approved(what) | Marked(what) => {
                let draft = self.draft(what).await;
                let mut seen = draft;
                if matches!(step, Marked(_)) {
                    let patch = json!([{"op": "add", "path": "/members/1/status", "value": "deprecated"}]);
                    seen = app.edit(&orders(), seen, None, &patch, "cat").await.expect("edited").id;
                }
                let approved = match app.approve(&orders(), seen, false, "so", "ann").await {
                    Err(e) if e.code == "policy-blocks" => {
                        app.approve(&orders(), seen, true, "so", "ann").await
                    }
                    approved => approved,
                };
                let version = approved.expect("approved").version.expect("one is enough");
                self.versions.push(version.version);
            }
            Live(environment) => {
                let newest = *self.versions.last().expect("a version");
                app.promote(&self.to(environment, newest).await).await.expect("promoted");
            }
            Swings(environment, times) => {
                let ends = [self.versions[0], *self.versions.last().expect("a version")];
                for to in ends.into_iter().cycle().take(times) {
                    app.promote(&self.to(environment, to).await).await.expect("promoted");
                }
            }
            Back(environment, nth) => {
                app.rollback(&self.to(environment, self.versions[nth]).await).await.expect("rolled back");
            }
        }
    }

    /// The draft that a release forms.
    async fn draft(&self, what: What) -> i64 {
        let recorded = self.app.record(&is("orders"), listing(&what.tools()), "ci").await.expect("recorded");
        match recorded.drafts.first() {
            Some(draft) => draft.id,
            None => self.app.draft(&orders(), &[is("orders")], "ci").await.expect("drafted").id,
        }
    }

    async fn to(&self, environment: &str, version: CatalogVersion) -> MoveRequest {
        let live = self.pointer(environment).await;
        to(environment, version, live.map_or(0, |live| live.generation))
    }

    async fn pointer(&self, environment: &str) -> Option<EnvironmentPointer> {
        let pages = self.app.catalog(&orders()).await.expect("there").pointers;
        pages.into_iter().find(|p| p.environment.as_str() == environment)
    }

    /// How what goes stands in a check of a build against an environment, and whether that passes.
    async fn checked(&self, environment: &str, tools: Vec<Value>) -> (Stands, bool) {
        let list = RawValue::from_string(json!({ "tools": tools }).to_string()).expect("JSON");
        let request = CheckRequest {
            catalog: None,
            environment: is(environment),
            servers: vec![(is("orders"), list)],
            context: BuildContext::default(),
            dry_run: true,
            actor: "ci".to_owned(),
        };
        let checked = self.app.make_check(request).await.expect("checked");
        (stands(checked.check.reports(), &checked.standing), checked.blocking() == 0)
    }
}

/// Of each rule that speaks of what goes: why it blocks, and the notice that was given of it.
type Stands = BTreeMap<String, (Option<&'static str>, Option<String>)>;

fn stands<'r>(reports: impl Iterator<Item = &'r Report>, standing: &[Standing]) -> Stands {
    let findings: Vec<&Finding> = reports.flat_map(Report::findings).map(|(_, finding)| finding).collect();
    let of = |s: &Standing| {
        let finding = findings.iter().find(|f| f.fingerprint == s.fingerprint).expect("of a finding");
        (finding.rule.clone(), (s.blocks, s.announced.as_ref().map(|n| n.told())))
    };
    standing.iter().map(of).filter(|(rule, _)| rule.ends_with("-removed")).collect()
}

/// What stands where something was announced `since` this day and 90 are promised: the day before it may go, and on it.
fn expected(since: Option<i64>) -> [(Option<&'static str>, Option<String>); 2] {
    let Some(since) = since else { return [(Some("open"), None), (Some("open"), None)] };
    let day = |day: i64| (noon() + TimeDelta::days(day)).date_naive();
    let told = format!("announced on {}, 90 days promised: it may go", day(since));
    [(Some("open"), Some(format!("{told} from {} on", day(since + 90)))), (None, Some(told))]
}

const PROMISED: &str = "policy: {deprecationDays: 90}";

/// Checks what a build without the tool and the parameter meets in an environment after a history: since when each was
/// announced there.
async fn check(
    history: History,
    settings: &str,
    environment: &str,
    [of_tool, of_parameter]: [Option<i64>; 2],
) {
    let told = Told::new(history, settings).await;
    let (last, _) = history.last().expect("something happened");
    for (rule, since) in [("tool-removed", of_tool), ("property-removed", of_parameter)] {
        // A long while where it was never announced.
        let from = since.map_or(last + 1_000, |since| since + 90);
        for (day, expected) in [from - 1, from].into_iter().zip(expected(since)) {
            let (stands, passes) = told.on(day, async |t| t.checked(environment, Gone.tools()).await).await;
            assert_eq!(stands.get(rule), Some(&expected), "{rule} on day {day} after {history:?}");
            assert_eq!(passes, stands.values().all(|(blocks, _)| blocks.is_none()), "{history:?}");
        }
    }
}

#[tokio::test]
async fn a_build_may_lack_what_was_announced_for_long_enough_in_every_version_that_was_live() {
    const ANNOUNCED: History =
        &[(0, Approved(Plain)), (0, Live("production")), (10, Approved(Announced)), (12, Live("production"))];
    for (history, environment, since) in [
        // Since it is live, not since it is approved; and of each by itself.
        (ANNOUNCED, "production", [Some(12), Some(12)]),
        (&[(0, Approved(OfTool)), (0, Live("production"))][..], "production", [Some(0), None]),
        // Every version since says so.
        (
            &[
                (0, Approved(Announced)),
                (1, Live("production")),
                (30, Approved(Reworded)),
                (31, Live("production")),
            ],
            "production",
            [Some(1), Some(1)],
        ),
        // Taken back, and announced again.
        (
            &[
                (0, Approved(Announced)),
                (0, Live("production")),
                (20, Approved(Plain)),
                (20, Live("production")),
                (50, Approved(Reworded)),
                (50, Live("production")),
            ],
            "production",
            [Some(50), Some(50)],
        ),
        // Taken back, and no more.
        (
            &[
                (0, Approved(Announced)),
                (0, Live("production")),
                (20, Approved(OfTool)),
                (20, Live("production")),
            ],
            "production",
            [Some(0), None],
        ),
        // In staging only.
        (
            &[
                (0, Approved(Plain)),
                (0, Live("production")),
                (10, Approved(Announced)),
                (10, Live("staging")),
            ],
            "production",
            [None, None],
        ),
        (
            &[
                (0, Approved(Plain)),
                (0, Live("production")),
                (10, Approved(Announced)),
                (10, Live("staging")),
            ],
            "staging",
            [Some(10), Some(10)],
        ),
        // Taken back by a rollback; and one that takes nothing back.
        (
            &[
                (0, Approved(Plain)),
                (0, Live("production")),
                (10, Approved(Announced)),
                (10, Live("production")),
                (20, Back("production", 0)),
                (30, Approved(Reworded)),
                (40, Live("production")),
            ],
            "production",
            [Some(40), Some(40)],
        ),
        (
            &[
                (0, Approved(Plain)),
                (0, Live("production")),
                (10, Approved(Announced)),
                (10, Live("production")),
                (20, Back("production", 0)),
            ],
            "production",
            [None, None],
        ),
        (
            &[
                (0, Approved(Announced)),
                (5, Live("production")),
                (10, Approved(Reworded)),
                (10, Live("production")),
                (20, Back("production", 0)),
            ],
            "production",
            [Some(5), Some(5)],
        ),
        // However often it was moved since, between versions that say so.
        (
            &[
                (0, Approved(Announced)),
                (2, Live("production")),
                (10, Approved(Reworded)),
                (11, Live("production")),
                (12, Swings("production", 120)),
            ],
            "production",
            [Some(2), Some(2)],
        ),
        // The catalog calls the tool deprecated, whatever the server says.
        (&[(0, Marked(Plain)), (3, Live("production"))], "production", [Some(3), None]),
    ] {
        check(history, PROMISED, environment, since).await;
    }
    let settings =
        "policy: {deprecationDays: 7}\nenvironments: {production: {probe: skip, deprecationDays: 90}}";
    check(ANNOUNCED, settings, "production", [Some(12), Some(12)]).await;
    // Where nothing is promised, nothing goes.
    let told = Told::new(ANNOUNCED, "policy: {}").await;
    let (stands, passes) = told.on(4_000, async |t| t.checked("production", Gone.tools()).await).await;
    assert_eq!(stands["tool-removed"], expected(None)[0]);
    assert!(!passes);
}

#[tokio::test]
async fn what_is_never_accepted_and_what_was_rejected_stays_whatever_was_announced() {
    const HISTORY: History = &[(0, Approved(Announced)), (0, Live("production"))];
    let told = Told::new(HISTORY, PROMISED).await;
    let mut twice = Gone.tools();
    twice.push(twice[0].clone());
    let (_, passes) = told.on(90, async |t| t.checked("production", Gone.tools()).await).await;
    assert!(passes);
    let (_, passes) = told.on(90, async |t| t.checked("production", twice).await).await;
    assert!(!passes, "one name is listed twice");

    let draft = told.on(90, async |t| t.draft(Gone).await).await;
    let request = DecideRequest {
        catalog: orders(),
        changes: Changes::Rule { draft, rule: "tool-removed".to_owned() },
        ruling: Ruling::Reject,
        environment: None,
        reason: "somebody calls it".to_owned(),
        owner: None,
        expires: None,
        actor: "ben".to_owned(),
    };
    let made = told.app.decide(&request).await.expect("decided");
    assert_eq!(made.len(), 1);
    let (stands, passes) = told.on(90, async |t| t.checked("production", Gone.tools()).await).await;
    assert_eq!((&stands["tool-removed"], passes), (&(Some("rejected"), None), false));
}

#[tokio::test]
async fn a_draft_may_lack_what_was_announced_for_long_enough_in_every_approved_version() {
    for (history, since) in [
        (&[(0, Approved(Plain)), (10, Approved(Announced))][..], Some(10)),
        (&[(0, Approved(Announced)), (20, Approved(Reworded))], Some(0)),
        (&[(0, Approved(Announced)), (20, Approved(Plain)), (50, Approved(Announced))], Some(50)),
        (&[(0, Approved(Announced)), (20, Approved(Plain))], None),
    ] {
        let told = Told::new(history, PROMISED).await;
        let from = since.map_or(1_000, |since| since + 90);
        let [short, long] = expected(since);
        let draft = told.on(from - 1, async |t| t.draft(Gone).await).await;
        let review = async |t: &Told| {
            let page = t.app.review(&orders(), draft).await.expect("there");
            stands(page.draft.reports(), &page.standing)
        };
        let approve = async |t: &Told| t.app.approve(&orders(), draft, false, "it goes", "ann").await;
        assert_eq!(told.on(from - 1, review).await["tool-removed"], short, "{history:?}");
        let (_, code, message) = refused(told.on(from - 1, approve).await);
        assert_eq!(code, "policy-blocks");
        assert_eq!(message.contains("it may go from"), since.is_some(), "{message}");
        assert_eq!(told.on(from, review).await["tool-removed"], long, "{history:?}");
        let approved = told.on(from, approve).await;
        if since.is_none() {
            assert_eq!(refused(approved).1, "policy-blocks");
            continue;
        }
        approved.expect("approved");
        // It is told by what it passed, and by nobody's decision.
        let events = told.app.events(200).await.expect("events");
        let newest = events.iter().filter(|e| e.kind == "draft.approved").max_by_key(|e| e.seq);
        let data = &newest.expect("it is told").data;
        assert_eq!((&data["decisions"], &data["acceptedBreaking"]), (&json!([]), &json!(false)));
        let announced = data["announced"].as_array().expect("a list");
        assert_eq!(announced.len(), 2, "{data}");
        let since = (noon() + TimeDelta::days(since.expect("announced"))).date_naive().to_string();
        assert!(announced.iter().all(|a| a["since"] == since.as_str() && a["days"] == 90), "{data}");
        // Under another policy it would not have passed.
        let tried = async |t: &Told| t.app.simulate(&orders(), &Policy::default()).await.expect("simulated");
        let simulation = told.on(from, tried).await;
        assert_eq!(simulation.blocked().map(|d| d.draft.id).collect::<Vec<_>>(), [draft]);
        // And afterwards it stands as it was judged.
        assert_eq!(told.on(from, review).await["tool-removed"], long);
    }
}

#[tokio::test]
async fn a_move_tells_what_it_lets_go() {
    // The catalog promises less than production does.
    const SETTINGS: &str = "policy: {deprecationDays: 5}\n\
                            environments: {production: {probe: skip, deprecationDays: 90}, staging: {probe: skip}}";
    const HISTORY: History = &[
        (0, Approved(Announced)),
        (0, Live("production")),
        (0, Live("staging")),
        (30, Approved(Gone)),
        (30, Live("staging")),
    ];
    let told = Told::new(HISTORY, SETTINGS).await;
    let request = told.to("production", told.versions[1]).await;
    let promote = async |t: &Told| t.app.promote(&request).await;
    let preflight = async |t: &Told| t.app.preflight(MoveKind::Promote, &request).await.expect("examined");
    let (_, code, message) = refused(told.on(89, promote).await);
    let from = (noon() + TimeDelta::days(90)).date_naive();
    assert_eq!(code, "policy-blocks");
    assert!(message.contains(&format!("90 days promised: it may go from {from} on")), "{message}");
    assert_eq!(told.on(89, preflight).await.grounds.announced, []);

    let passed = told.on(90, preflight).await;
    let gate = passed.gates.iter().find(|g| g.code == "policy-blocks").expect("judged");
    assert!(gate.passed && gate.message.contains("announced on 2026-11-30, 90 days promised"), "{gate:?}");
    let made = told.on(90, promote).await.expect("promoted");
    let rules: Vec<&str> = made.grounds.announced.iter().map(|a| a.change.as_str()).collect();
    assert_eq!((rules.len(), made.grounds.decisions.len()), (2, 0), "{rules:?}");
    let events = told.app.events(200).await.expect("events");
    let event = events.iter().filter(|e| e.kind == "environment.promoted").max_by_key(|e| e.seq);
    let data = &event.expect("it is told").data["grounds"]["announced"];
    assert_eq!(data, &serde_json::to_value(&made.grounds.announced).expect("JSON"));
}

#[tokio::test]
async fn going_back_is_judged_by_what_is_announced_where_it_is_lost() {
    const SETTINGS: &str = "policy: {deprecationDays: 90}\n\
                            environments: {production: {probe: skip, rollbackFailOn: [breaking]}}";
    const HISTORY: History =
        &[(0, Approved(Gone)), (0, Live("production")), (10, Approved(Announced)), (10, Live("production"))];
    let told = Told::new(HISTORY, SETTINGS).await;
    let request = told.to("production", told.versions[0]).await;
    let back = async |t: &Told| t.app.rollback(&request).await;
    assert_eq!(refused(told.on(99, back).await).1, "policy-blocks");
    let made = told.on(100, back).await.expect("rolled back");
    assert_eq!(made.grounds.announced.len(), 2);
}

#[tokio::test]
async fn what_is_gone_already_and_was_live_once_was_announced_while_it_was_there() {
    const SETTINGS: &str =
        "policy: {deprecationDays: 90}\nenvironments: {production: {probe: skip, against: ever-live}}";
    const HISTORY: History = &[
        (0, Approved(Plain)),
        (0, Live("production")),
        (10, Approved(Announced)),
        (10, Live("production")),
        (100, Approved(Gone)),
        (100, Live("production")),
    ];
    let told = Told::new(HISTORY, SETTINGS).await;
    let (stands, passes) = told.on(110, async |t| t.checked("production", GoneWith("c").tools()).await).await;
    assert_eq!(stands.get("property-removed"), Some(&expected(Some(10))[1]), "{stands:?}");
    assert!(passes, "{stands:?}");
}
