//! Servers on their pages: added by a URL, asked now, looked through; tools with their past; and search.

use axum::http::StatusCode;
use serde_json::{Value, json};
use toolpact::{
    app::App,
    catalog::{
        ServerSource, ServerSpec,
        server::{AuthContext, Symbolic},
    },
};

use super::check;
use crate::{
    ask::{Ask, answer, get, submit},
    command::{answers, script},
    seed, support,
};

async fn at(app: &App, path: &str) -> String {
    let page = answer(app, get(path)).await;
    assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
    check(path, &page);
    page.body
}

async fn refused(app: &App, ask: Ask, status: StatusCode, says: &str) {
    let page = answer(app, ask).await;
    assert_eq!(page.status, status, "{}", page.body);
    check("a form", &page);
    assert!(page.body.contains(says), "{says}: {}", page.body);
}

#[tokio::test]
async fn a_server_is_added_by_its_url_and_never_by_a_command() {
    let app = seed::story().await;
    let add = |url: &'static str| submit("/servers", &[("name", "maps"), ("url", url)]);
    refused(&app, add("npx -y maps"), StatusCode::BAD_REQUEST, "toolpact servers add maps -- COMMAND").await;
    refused(&app, add("file:///etc/passwd"), StatusCode::BAD_REQUEST, "is no URL").await;
    let added = answer(&app, add("https://maps.example/${HOME}/mcp")).await;
    assert_eq!(
        (added.status, added.header("location")),
        (StatusCode::SEE_OTHER, "/servers/maps"),
        "{}",
        added.body
    );
    // What a browser sends refers to nothing.
    let specs = app.registered().await.expect("read");
    let spec = specs.iter().find(|spec| spec.name.as_str() == "maps").expect("registered");
    assert!(spec.references().is_empty(), "{spec:?}");
    let page = at(&app, "/servers/maps").await;
    assert!(page.contains("Snapshot now") && page.contains("It was never asked"), "{page}");
    refused(&app, add("https://other.example/mcp"), StatusCode::CONFLICT, "registered as").await;
    refused(&app, submit("/servers/orders/snapshot", &[]), StatusCode::NOT_FOUND, "is not registered").await;
}

/// A form that holds any text.
fn pasted(text: &str, more: &str) -> Ask {
    let text: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    submit("/import", &[]).body(&format!("text={text}{more}"))
}

#[tokio::test]
async fn a_configuration_is_imported_but_for_commands_and_what_refers_to_this_machine() {
    let app = seed::story().await;
    assert!(at(&app, "/import").await.contains("Paste a configuration"));
    let none = pasted("{\"nothing\": 1}", "");
    refused(&app, none, StatusCode::BAD_REQUEST, "it names no MCP servers").await;
    let text = json!({"mcpServers": {
        "maps": {"type": "http", "url": "https://maps.example/mcp", "headers": {"X-Region": "eu"}},
        "files": {"command": "npx", "args": ["-y", "files <b>", "/tmp/it's"], "env": {"API_TOKEN": "tok-0123456789abcdef0123"}},
        "mail": {"type": "http", "url": "https://mail.example/mcp", "headers": {"Authorization": "Bearer ${MAIL_TOKEN}"}},
        "home": {"type": "http", "url": "https://home.example/${file:/etc/passwd}"},
        "odd": {"type": "http", "url": "ftp://odd.example/mcp"},
    }});
    let page = answer(&app, pasted(&text.to_string(), "")).await;
    check("an import", &page);
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    for told in [
        "<a href=\"/servers/maps\"><strong>maps</strong></a>",
        "toolpact servers add files --env ",
        "-- npx -y &#39;files &lt;b&gt;&#39;",
        "commands are never taken over HTTP",
        "toolpact servers add mail --url https://mail.example/mcp --header &#39;Authorization=Bearer ${MAIL_TOKEN}&#39;",
        "<strong>odd</strong>",
    ] {
        let body = page.body.replace("&#60;", "&lt;").replace("&#62;", "&gt;");
        assert!(body.contains(told), "{told}: {body}");
    }
    // A secret in clear stands nowhere but in the field that was sent.
    let answered = page.body.split("<textarea").next().unwrap_or_default();
    assert!(!answered.contains("tok-0123456789abcdef0123"), "{answered}");
    let registered = |app: App| async move {
        let specs = app.registered().await.expect("read");
        specs.iter().map(|spec| spec.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(registered(app.clone()).await, ["maps"]);
    // The same again is nothing new; otherwise it is refused until somebody says to replace it.
    let again = answer(&app, pasted(&text.to_string(), "")).await.body;
    assert!(again.contains("registered already"), "{again}");
    let moved = text.to_string().replace("maps.example", "maps2.example");
    let stopped = answer(&app, pasted(&moved, "")).await.body;
    assert!(
        stopped.contains("Nothing is registered") && stopped.contains("registered otherwise"),
        "{stopped}"
    );
    let replaced = answer(&app, pasted(&moved, "&replace=on")).await.body;
    assert!(replaced.contains("replaced</span>"), "{replaced}");
    assert_eq!(registered(app.clone()).await, ["maps"]);
    // What is sent along from this machine is not turned to another URL.
    let headers = [("Authorization".to_owned(), "Bearer ${MAPS_TOKEN}".into())].into();
    let context = AuthContext { name: "buyer".to_owned(), headers, ..AuthContext::default() };
    app.set_context(&seed::name("maps"), context, false, "ann").await.expect("it has a use");
    let before = app.registered().await.expect("read");
    let stolen =
        answer(&app, pasted(&text.to_string().replace("maps.example", "evil.example"), "&replace=on")).await;
    assert!(stolen.body.contains("it refers to variables or files"), "{}", stolen.body);
    assert_eq!(app.registered().await.expect("read"), before);
}

/// The steps of a snapshot that is looked at while it is taken: their names, and what the last one says.
async fn followed(app: &App, server: &str) -> (Vec<String>, Value) {
    let ask = submit(&format!("/servers/{server}/snapshot"), &[]).header("accept", "text/event-stream");
    let answered = answer(app, ask).await;
    assert_eq!(answered.header("content-type"), "text/event-stream", "{}", answered.body);
    let values = |field: &str| {
        let lines = answered.body.lines().filter_map(|line| line.strip_prefix(field));
        lines.map(|value| value.trim().to_owned()).collect::<Vec<_>>()
    };
    let last = values("data:").pop().expect("an event");
    (values("event:"), serde_json::from_str(&last).expect("JSON"))
}

#[tokio::test]
async fn a_snapshot_tells_its_steps_and_its_outcome_to_whoever_reads_events() {
    let app = seed::empty().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("server.sh");
    let list = answers(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#);
    std::fs::write(&file, script(&list)).expect("written");
    for (name, program, path) in [
        ("good", "bash", file.to_string_lossy().into_owned()),
        ("bad", "bash", "/nowhere/server.sh".to_owned()),
    ] {
        let source = ServerSource::Stdio {
            program: Symbolic::literal(program),
            args: vec![Symbolic::literal(&path)],
            env: std::collections::BTreeMap::new(),
            cwd: None,
        };
        let added = app.add_server(ServerSpec::new(seed::name(name), source), false, "ann").await;
        added.expect("registered");
    }
    let (steps, end) = followed(&app, "good").await;
    // Steps that took no time may be left out; what is told stands in order, and the outcome last.
    let order = ["queued", "connecting", "listing", "comparing", "end"];
    let places: Vec<_> = steps.iter().map(|step| order.iter().position(|o| o == step)).collect();
    assert!(places.is_sorted() && places.last() == Some(&Some(4)), "{steps:?}");
    assert!(steps.contains(&"connecting".to_owned()), "{steps:?}");
    assert_eq!((&end["outcome"], &end["good"]), (&json!("ok"), &json!(true)), "{end}");
    assert_eq!(end["says"], "1 tool: the first snapshot of this server");
    let (_, end) = followed(&app, "good").await;
    assert_eq!(end["says"], "1 tool, identical to the snapshot before");
    let (_, end) = followed(&app, "bad").await;
    assert_eq!(end["good"], json!(false), "{end}");
    let (steps, end) = followed(&app, "nobody").await;
    assert_eq!(
        (steps.last().map(String::as_str), &end["outcome"]),
        (Some("end"), &json!("not asked")),
        "{end}"
    );
    // Who reads no events is led to the page.
    let plain = answer(&app, submit("/servers/good/snapshot", &[])).await;
    assert_eq!(plain.header("location"), "/servers/good#listings");
}

#[tokio::test]
async fn a_snapshot_that_is_looked_at_ends_with_the_service() {
    let app = seed::empty().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("server.sh");
    // It never answers, and would be waited for for minutes.
    std::fs::write(&file, "cat > /dev/null").expect("written");
    let source = ServerSource::Stdio {
        program: Symbolic::literal("bash"),
        args: vec![Symbolic::literal(&file.to_string_lossy())],
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    app.add_server(ServerSpec::new(seed::name("silent"), source), false, "ann").await.expect("registered");
    app.stop_following();
    let ask = submit("/servers/silent/snapshot", &[]).header("accept", "text/event-stream");
    let answered = answer(&app, ask).await;
    assert!(!answered.body.contains("event: end"), "{}", answered.body);
}

#[tokio::test]
async fn servers_are_looked_through_by_name_outcome_and_team() {
    let app = seed::story().await;
    let team = [("name", "shop-people"), ("members", "mara"), ("servers", "orders")];
    assert_eq!(answer(&app, submit("/teams", &team)).await.status, StatusCode::SEE_OTHER);
    for (query, orders, billing) in [
        ("", true, true),
        ("?name=ORD", true, false),
        ("?outcome=unavailable", false, true),
        ("?outcome=ok&team=shop-people", true, false),
        ("?team=nobody-of-ours", false, false),
        ("?after=billing", true, false),
        ("?transport=stdio&name=orders", true, false),
        ("?transport=sse", false, false),
        ("?tokens=1&name=orders", true, false),
        ("?tokens=100000", false, false),
    ] {
        let page = at(&app, &format!("/servers{query}")).await;
        let has = |name: &str| page.contains(&format!("<a href=\"/servers/{name}\">"));
        assert_eq!((has("orders"), has("billing")), (orders, billing), "{query}: {page}");
    }
    // Live where its first release is, and it lists a third by now.
    let page = at(&app, "/servers?name=orders").await;
    for told in ["shop-people", "stdio", "2025-11-25", "drift", "/environments/production"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let overview = at(&app, "/").await;
    for told in ["lists something else", "with exit code 1", "generation 3", "href=\"/servers/billing\""] {
        assert!(overview.contains(told), "{told}: {overview}");
    }
    for bad in ["outcome=fine", "transport=pigeon", "tokens=many"] {
        let bad = answer(&app, get(&format!("/servers?{bad}"))).await;
        assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn a_tool_shows_every_contract_and_change_that_it_had() {
    let app = seed::story().await;
    let page = at(&app, "/servers/orders/tools/order_query/history").await;
    for told in ["2026.11.26", "initial", "no longer accepts", "drafts/4", "pending"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    // One that the server lists no more has its past still.
    let page = at(&app, "/servers/orders/tools/order_cancel/history").await;
    assert!(page.contains("does not list it any more"), "{page}");
    let never = answer(&app, get("/servers/orders/tools/never/history")).await;
    assert_eq!(never.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn search_finds_servers_tools_and_parameters() {
    let app = seed::story().await;
    let page = at(&app, "/search?q=ORDER").await;
    for link in ["/servers/orders", "/servers/orders/tools/order_query"] {
        assert!(page.contains(&format!("class=\"row\" href=\"{link}\"")), "{link}: {page}");
    }
    let page = at(&app, "/search?q=descending").await;
    assert!(page.contains("sort.descending"), "{page}");
    assert!(at(&app, "/search?q=nothing-like-it").await.contains("Nothing found"));
    let long = answer(&app, get(&format!("/search?q={}", "x".repeat(101)))).await;
    assert_eq!(long.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn pages_of_550_tools_stay_small() {
    let app = seed::empty().await;
    let tool = |i: usize| {
        let words = "Does one of the many things that this server can do, at some length. ".repeat(4);
        json!({ "name": format!("tool_number_{i}"), "description": words, "inputSchema": { "type": "object", "properties": {
            "subject": { "type": "string", "description": words } } } })
    };
    let all: Vec<Value> = (0..550).map(tool).collect();
    let (big, shop) = (seed::name("big"), seed::name("shop"));
    app.record(&big, support::listing(&all), "poller").await.expect("it is recorded");
    app.draft(&shop, std::slice::from_ref(&big), "ann").await.expect("a draft forms");
    app.approve(&shop, 1, true, "as it is", "ann").await.expect("it is approved");
    for path in [
        "/",
        "/servers",
        "/servers/big",
        "/servers/big?tools=400",
        "/servers/big/tools/tool_number_7",
        "/servers/big/tools/tool_number_7/history",
        "/catalogs/shop/versions/2026.11.30",
        "/catalogs/shop/versions/2026.11.30?tools=500",
        "/catalogs/shop/policy?failOn=compatible",
        "/search?q=tool",
        "/search?q=subject",
        "/events",
    ] {
        let page = at(&app, path).await;
        assert!(page.len() < 300_000, "{path} has {} bytes", page.len());
    }
    assert!(at(&app, "/servers/big?tools=400").await.contains("tool_number_549"));
}
