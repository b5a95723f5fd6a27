//! Not tests: a service in memory with a story in it, for the tests of the API and the pages. Releases, a promotion,
//! a rollback with its hold, a server that is down, and a draft whose report holds a finding of every kind.

mod report;

use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use report::report;
use serde_json::{Value, json};
use toolpact::{
    app::{App, Clock, MoveRequest, Overrides},
    catalog::{CatalogVersion, Content, event::NewEvent},
    diff::{Report, Surface},
    json::Pointer,
    name::{CatalogName, EnvironmentName, ServerName},
    snapshot::{Evidence, Held, Listing, Outcome, Provenance, Transport, split},
    store::{Basis, NewDraft, Store},
};

/// A clock that stands until it is moved.
pub(crate) struct StandingClock(Mutex<DateTime<Utc>>);

impl StandingClock {
    pub(crate) fn at(text: &str) -> Arc<Self> {
        Arc::new(Self(Mutex::new(text.parse().expect("a time"))))
    }

    fn set(&self, text: &str) {
        *self.0.lock().expect("nobody panics while holding it") = text.parse().expect("a time");
    }

    fn pass(&self, minutes: i64) {
        *self.0.lock().expect("nobody panics while holding it") += TimeDelta::minutes(minutes);
    }
}

impl Clock for StandingClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().expect("nobody panics while holding it")
    }
}

pub(crate) fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("a name")
}

/// A service that knows nothing yet.
pub(crate) async fn empty() -> App {
    let store = crate::database::store().await;
    App::new(store, StandingClock::at("2026-11-30T12:00:00Z"))
}

/// The story. The draft that waits is d-4 of `shop`; production is at generation 3 with 2026.11.28 held.
pub(crate) async fn story() -> App {
    story_over(&crate::database::store().await).await
}

/// The story, over this store.
pub(crate) async fn story_over(store: &Arc<dyn Store>) -> App {
    let clock = StandingClock::at("2026-11-26T09:00:00Z");
    let app = App::new(store.clone(), clock.clone());
    let shop: CatalogName = name("shop");

    record(&app, "orders", "1.4.0", orders(1)).await;
    app.draft(&shop, &[name("orders")], "mara").await.expect("a first draft forms");
    clock.pass(7);
    let first = app
        .approve(&shop, 1, true, "the contracts as they stand", "jonas")
        .await
        .expect("it is approved")
        .version
        .expect("one approval is enough");
    for environment in ["staging", "production"] {
        clock.pass(3);
        moved(&app, environment, first.version, 0, "first catalog", true).await;
    }

    clock.set("2026-11-28T14:20:00Z");
    record(&app, "orders", "1.5.0", orders(2)).await;
    clock.pass(25);
    let second = app
        .approve(&shop, 2, true, "adds order_track", "jonas")
        .await
        .expect("it is approved")
        .version
        .expect("one approval is enough");
    moved(&app, "staging", second.version, 1, "try order_track", true).await;
    clock.pass(90);
    moved(&app, "production", second.version, 1, "order_track for support", true).await;
    clock.set("2026-11-29T03:12:00Z");
    moved(&app, "production", first.version, 2, "support agents loop on order_track", false).await;

    clock.set("2026-11-30T09:30:00Z");
    let recorded = record(&app, "orders", "1.6.0", orders(3)).await;
    let content = recorded.first().expect("a draft forms").content.clone();
    let failed = Listing {
        outcome: Outcome::Unavailable,
        evidence: Evidence {
            message: "server `billing` ended before it answered `initialize`, with exit code 1".to_owned(),
            help: "run the command by hand; the end of its stderr is below".to_owned(),
            stderr_tail: "Error: BILLING_TOKEN is not set\n    at main (index.js:12:9)".to_owned(),
            exit_code: Some(1),
            elapsed_ms: 412,
            ..Evidence::default()
        },
        provenance: provenance("npx -y @example/billing-mcp", "0"),
        tools: Vec::new(),
        surfaces: Vec::new(),
        held: Held::default(),
    };
    app.record(&name("billing"), failed, "poller").await.expect("a failed listing is recorded");
    draft(store, &shop, second.version, content, report(), clock.now()).await;
    clock.set("2026-11-30T12:00:00Z");
    app
}

/// A service to which a server said, and a report repeats, the worst that text can be.
pub(crate) async fn hostile() -> App {
    let store = crate::database::store().await;
    let clock = StandingClock::at("2026-11-30T12:00:00Z");
    let app = App::new(store.clone(), clock.clone());
    let tools = json!([{
        "name": HOSTILE, "title": HOSTILE, "description": format!("{HOSTILE}{}", "long ".repeat(20_000)),
        "inputSchema": {"type": HOSTILE, "properties": {HOSTILE: {
            "type": HOSTILE, "description": HOSTILE, "enum": [HOSTILE], "pattern": HOSTILE, "default": HOSTILE,
        }}, "required": [HOSTILE]},
        "outputSchema": {"type": "object", "properties": {HOSTILE: {"$ref": HOSTILE}}},
        "annotations": {HOSTILE: HOSTILE},
    }]);
    let mut listing = listing("evil", HOSTILE, &tools);
    listing.provenance.instructions = Some(HOSTILE.to_owned());
    listing.provenance.protocol_version = Some(HOSTILE.to_owned());
    listing.provenance.target = HOSTILE.to_owned();
    listing.evidence = Evidence {
        message: HOSTILE.to_owned(),
        help: HOSTILE.to_owned(),
        stray_lines: 1,
        stray_samples: vec![HOSTILE.to_owned()],
        stderr_tail: HOSTILE.to_owned(),
        retry_after: Some(HOSTILE.to_owned()),
        rpc_error: Some(json!({"message": HOSTILE})),
        warnings: vec![HOSTILE.to_owned()],
        ..Evidence::default()
    };
    let evil: ServerName = name("evil");
    app.record(&evil, listing, HOSTILE).await.expect("it is recorded");
    let shop: CatalogName = name("shop");
    let first = app.draft(&shop, &[evil], HOSTILE).await.expect("a draft forms");
    let version = app
        .approve(&shop, first.id, true, HOSTILE, HOSTILE)
        .await
        .expect("it is approved")
        .version
        .expect("one approval is enough");
    let live = MoveRequest {
        environment: name("production"),
        catalog: Some(shop.clone()),
        version: version.version,
        generation: 0,
        reason: HOSTILE.to_owned(),
        actor: HOSTILE.to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    app.promote(&live).await.expect("it is promoted");
    let mut report = report();
    for tool in &mut report.tools {
        (tool.tool, tool.server) = (HOSTILE.to_owned(), HOSTILE.to_owned());
        tool.patch = Some(json!({HOSTILE: HOSTILE}));
        for f in &mut tool.findings {
            (f.rule, f.message, f.help) = (HOSTILE.to_owned(), HOSTILE.to_owned(), HOSTILE.to_owned());
            f.pointer = Pointer::from(HOSTILE);
            f.candidate = Some(json!({HOSTILE: HOSTILE}));
            if f.surface == Surface::Presentation {
                (f.baseline, f.candidate) = (Some(json!("some words")), Some(HOSTILE.into()));
            }
            if let Some(w) = &mut f.witness {
                (w.value, w.at, w.reason) =
                    (json!({HOSTILE: HOSTILE}), Pointer::from(HOSTILE), HOSTILE.to_owned());
            }
        }
    }
    (report.baseline, report.candidate) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    draft(&store, &shop, version.version, version.content, report, clock.now()).await;
    app
}

/// Markup, an attribute that breaks out, a link, a template, and characters that nobody sees.
pub(crate) const HOSTILE: &str = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>' {{7*7}} https://evil.example \u{202e}gnp\u{200b}\u{7}";

async fn record(app: &App, server: &str, version: &str, tools: Value) -> Vec<toolpact::catalog::Draft> {
    app.record(&name(server), listing(server, version, &tools), "poller")
        .await
        .expect("it is recorded")
        .drafts
}

async fn moved(app: &App, environment: &str, to: CatalogVersion, generation: i64, why: &str, forward: bool) {
    let request = MoveRequest {
        environment: name::<EnvironmentName>(environment),
        catalog: None,
        version: to,
        generation,
        reason: why.to_owned(),
        actor: if forward { "jonas" } else { "oncall" }.to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    };
    let done = if forward { app.promote(&request).await } else { app.rollback(&request).await };
    done.expect("the move is allowed");
}

async fn draft(
    store: &Arc<dyn Store>,
    catalog: &CatalogName,
    base: CatalogVersion,
    content: Content,
    report: Report,
    at: DateTime<Utc>,
) {
    let new = NewDraft {
        catalog: catalog.clone(),
        base: Some(base),
        content,
        report,
        earlier: Vec::new(),
        basis: Basis::default(),
        created_by: "poller".to_owned(),
        created_at: at,
    };
    let event = NewEvent {
        at,
        actor: "poller".to_owned(),
        kind: "draft.created",
        subject: format!("catalog/{catalog}"),
        data: json!({}),
        origin: None,
        seal: None,
    };
    store.open_draft(new, event).await.expect("the draft is kept");
}

fn listing(server: &str, version: &str, tools: &Value) -> Listing {
    Listing {
        outcome: Outcome::Ok,
        evidence: Evidence {
            pages: 1,
            bytes: tools.to_string().len(),
            elapsed_ms: 640,
            ..Evidence::default()
        },
        provenance: provenance(&format!("npx -y @example/{server}-mcp"), version),
        tools: split(&tools.to_string()).expect("an array"),
        surfaces: Vec::new(),
        held: Held::default(),
    }
}

fn provenance(target: &str, version: &str) -> Provenance {
    Provenance {
        transport: Transport::Stdio,
        protocol_version: Some("2025-11-25".to_owned()),
        server_info: Some(json!({"name": "orders-mcp", "version": version})),
        ..Provenance::file(target)
    }
}

/// The tools of a release of the server `orders`.
fn orders(release: u32) -> Value {
    let states = if release < 3 { json!(["open", "closed", "all"]) } else { json!(["open", "closed"]) };
    let required = if release < 3 { json!(["customer"]) } else { json!(["customer", "region"]) };
    let mut tools = json!([
        {
            "name": "order_query", "title": "Query orders",
            "description": "Lists the orders of a customer, newest first.",
            "inputSchema": {
                "type": "object", "required": required, "additionalProperties": false,
                "properties": {
                    "customer": {"type": "string", "description": "The customer's number.", "pattern": "^c-[0-9]+$"},
                    "state": {"enum": states, "default": "open", "description": "Which orders."},
                    "region": {"type": "string", "description": "Where the order was placed."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 200},
                    "sort": {"type": "object", "properties": {"by": {"enum": ["date", "total"]}, "descending": {"type": "boolean"}}},
                },
            },
            "outputSchema": {
                "type": "object", "required": ["orders"],
                "properties": {"orders": {"type": "array", "items": {"type": "object", "properties": {
                    "id": {"type": "string"}, "total": {"type": "number"}}}}},
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        },
        {
            "name": "order_cancel", "description": "Cancels an order that has not been shipped.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "annotations": {"destructiveHint": true},
        },
        {
            "name": "customer_note", "description": "Adds a note to a customer.",
            "inputSchema": {"type": "object", "properties": {"customer": {"type": "string"}, "text": {"type": "string"}, "pinned": {"type": "boolean"}}},
        },
    ]);
    let Value::Array(list) = &mut tools else { return tools };
    if release > 2 {
        list.retain(|t| t["name"] != "order_cancel");
        list.push(json!({"name": "order_refund", "description": "Pays an order back.", "inputSchema": {"type": "object"}}));
    }
    if release > 1 {
        list.push(json!({
            "name": "order_track", "description": "Where a parcel is.",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}},
        }));
    }
    tools
}
