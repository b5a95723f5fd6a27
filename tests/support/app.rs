//! Use cases over a store of their own, with a clock that stands, and small tools lists to feed them.

use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use toolpact::{
    app::{App, Clock, MoveRequest, Overrides, ReleaseRequest, view},
    catalog::CatalogVersion,
    diff::{Assumption, Bump, Finding, Level, Report, Status, Surface, ToolReport},
    json::{Digest, Pointer},
    snapshot::Listing,
    store::Store,
};

/// Noon of the day on which every test happens.
pub(crate) fn noon() -> DateTime<Utc> {
    "2026-11-30T12:00:00.123456Z".parse().expect("written above")
}

/// A clock that stands.
pub(crate) struct Noon;

impl Clock for Noon {
    fn now(&self) -> DateTime<Utc> {
        noon()
    }
}

/// A clock that is set by hand.
#[derive(Clone)]
pub(crate) struct Hands(Arc<Mutex<DateTime<Utc>>>);

impl Hands {
    /// At noon.
    pub(crate) fn at_noon() -> Self {
        Self(Arc::new(Mutex::new(noon())))
    }

    pub(crate) fn forward(&self, minutes: i64) {
        self.by(TimeDelta::minutes(minutes));
    }

    pub(crate) fn by(&self, span: TimeDelta) {
        *self.0.lock().expect("whole") += span;
    }
}

impl Clock for Hands {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().expect("whole")
    }
}

/// Use cases, and the store under them for looking behind.
pub(crate) async fn app() -> (App, Arc<dyn Store>) {
    let store = crate::database::store().await;
    (App::new(store.clone(), Arc::new(Noon)), store)
}

/// A name, version or whatever else is written as text here.
pub(crate) fn is<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap_or_else(|e| panic!("`{text}`: {e:?}"))
}

/// A tool that takes these string arguments.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Value {
    let properties: Value = arguments.iter().map(|a| ((*a).to_owned(), json!({"type": "string"}))).collect();
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

/// A listing that ended well with these tools.
pub(crate) fn listing(tools: &[Value]) -> Listing {
    let text = json!({"tools": tools, "serverInfo": {"name": "orders", "version": "1.2.3"}}).to_string();
    view::file_listing("tools.json", &text).unwrap_or_else(|e| panic!("{e}"))
}

/// A pointer move by `ann`, without a retry key.
pub(crate) fn to(environment: &str, version: CatalogVersion, generation: i64) -> MoveRequest {
    MoveRequest {
        environment: is(environment),
        catalog: None,
        version,
        generation,
        reason: "because".to_owned(),
        actor: "ann".to_owned(),
        idempotency_key: None,
        overrides: Overrides::default(),
    }
}

/// The release of a hold in `production` by `ann`, without a retry key.
pub(crate) fn release(version: Option<CatalogVersion>, generation: i64) -> ReleaseRequest {
    ReleaseRequest {
        environment: is("production"),
        catalog: None,
        version,
        generation,
        reason: "mended".to_owned(),
        actor: "ann".to_owned(),
        idempotency_key: None,
    }
}

/// A report with one finding of this level about one tool of server `orders`.
pub(crate) fn report(tool: &str, level: Level, bump: Bump, absolute: bool) -> Report {
    let finding = Finding {
        rule: "type-changed".to_owned(),
        level,
        surface: Surface::Input,
        pointer: Pointer::from("/properties/id"),
        message: "something changed".to_owned(),
        baseline: None,
        candidate: None,
        witness: None,
        help: String::new(),
        fingerprint: Digest::of_bytes(tool.as_bytes()),
        absolute,
    };
    let empty = toolpact::diff::Side::default();
    let silent = toolpact::diff::diff(&empty, &empty, Assumption::Declared);
    Report {
        verdict: level,
        required_bump: bump,
        tools: vec![ToolReport {
            server: "orders".to_owned(),
            tool: tool.to_owned(),
            status: Status::Changed,
            verdict: level,
            required_bump: bump,
            findings: vec![finding],
            patch: None,
            calls: None,
        }],
        ..silent
    }
}
