//! `server.json`, alone and from a registry's API: a real HTTP server on a loopback port speaks it.

use std::collections::HashMap;

use axum::{
    Json, Router,
    extract::{Path, Query},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};
use toolpact::config::registry::{self, Client, Limits, RegistryError};

use super::written;

/// A server with one remote.
fn remote(name: &str) -> Value {
    json!({"server": {"name": name, "description": "d", "version": "1.0.0", "remotes": [{"type": "streamable-http", "url": "https://h/mcp"}]}})
}

/// A registry under `/sub` that pages by two, at a loopback port. Some searches make it misbehave.
pub(crate) async fn start() -> String {
    async fn list(Query(query): Query<HashMap<String, String>>) -> Response {
        let search = query.get("search").map_or("", String::as_str);
        let cursor: usize = query.get("cursor").map_or(Ok(0), |c| c.parse()).unwrap_or_default();
        let next =
            |next: Value| Json(json!({"servers": [remote("io.x/same")], "metadata": {"nextCursor": next}}));
        match search {
            "circle" => next(json!("1")).into_response(),
            "endless" => next(json!((cursor + 1).to_string())).into_response(),
            "huge" => " ".repeat(20_000).into_response(),
            "html" => "<h1>no</h1>".into_response(),
            "other" => Json(json!({"tools": []})).into_response(),
            "down" => StatusCode::BAD_GATEWAY.into_response(),
            _ => {
                let all: Vec<Value> = ["io.a/one", "io.a/two", "io.b/three", "io.b/four", "io.c/five"]
                    .into_iter()
                    .filter(|name| name.contains(search))
                    .map(remote)
                    .collect();
                let page: Vec<&Value> = all.iter().skip(cursor).take(2).collect();
                let next = if cursor + 2 < all.len() { (cursor + 2).to_string() } else { String::new() };
                Json(json!({"servers": page, "metadata": {"nextCursor": next, "count": page.len()}}))
                    .into_response()
            }
        }
    }
    async fn one(Path((name, version)): Path<(String, String)>) -> Response {
        if name == "io.a/one" && version == "latest" {
            Json(remote(&name)).into_response()
        } else {
            StatusCode::NOT_FOUND.into_response()
        }
    }
    let router = Router::new()
        .route("/sub/v0.1/servers", get(list))
        .route("/sub/v0.1/servers/{name}/versions/{version}", get(one));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://127.0.0.1:{port}/sub/")
}

fn small() -> Limits {
    Limits { page_bytes: 10_000, pages: 20, ..Limits::default() }
}

#[tokio::test]
async fn every_page_is_read_and_a_name_is_one_segment() {
    let client = Client::new(&start().await, small()).expect("a URL");
    let names = |all: Vec<Value>| -> Vec<String> {
        all.iter().map(|s| s["server"]["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = names(client.servers(None).await.expect("a list"));
    assert_eq!(all, ["io.a/one", "io.a/two", "io.b/three", "io.b/four", "io.c/five"]);
    assert_eq!(names(client.servers(Some("io.b")).await.expect("a list")), ["io.b/three", "io.b/four"]);
    assert_eq!(names(vec![client.server("io.a/one").await.expect("there")]), ["io.a/one"]);
    assert!(matches!(client.server("io.a/none").await, Err(RegistryError::NoServer { .. })));
}

#[tokio::test]
async fn a_registry_that_misbehaves_ends_in_an_error_that_names_it() {
    let base = start().await;
    let client = Client::new(&base, small()).expect("a URL");
    for (search, expected) in [
        ("circle", "gave one cursor twice, so its list has no end"),
        ("endless", "has more than 20 pages; narrow the list with a search, or name the servers"),
        ("huge", "has more than 10000 bytes on one page"),
        ("html", "answered something that is no JSON"),
        ("other", "answered something that is no page of servers"),
        ("down", "answered 502"),
    ] {
        let error = client.servers(Some(search)).await.expect_err(search).to_string();
        assert!(error.contains(expected) && error.contains("127.0.0.1"), "{search}: {error}");
    }
    let nobody = Client::new("http://ann:hidden@127.0.0.1:1/?key=hidden", small()).expect("a URL");
    let error = nobody.servers(None).await.expect_err("nobody is there").to_string();
    assert!(error.contains("did not answer") && !error.contains("hidden"), "{error}");
    assert!(Client::new("registry.example.com", small()).is_err());
}

#[test]
fn a_package_becomes_its_command_and_a_remote_its_url() {
    let server = |rest: Value| {
        let mut server = json!({"name": "io.x/s", "version": "1.0.0"});
        server.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        server
    };
    let package = |kind: &str, rest: Value| {
        let mut package = json!({"registryType": kind, "identifier": "pkg", "version": "1.2.3", "transport": {"type": "stdio"}});
        package.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        server(json!({"packages": [package]}))
    };
    let note = "  it is called `io.x-s` here, for `io.x/s` has what no name here may have\n";
    for (document, preferred, expected) in [
        (package("npm", json!({})), false, "io.x-s: npx -y pkg@1.2.3\n"),
        (
            package("npm", json!({"runtimeArguments": [{"type": "positional", "value": "--yes"}]})),
            false,
            "io.x-s: npx --yes pkg@1.2.3\n",
        ),
        (package("pypi", json!({})), false, "io.x-s: uvx pkg@1.2.3\n"),
        (
            package("nuget", json!({"packageArguments": [{"type": "positional", "value": "serve"}]})),
            false,
            "io.x-s: dnx pkg@1.2.3 --yes -- serve\n",
        ),
        (
            package(
                "oci",
                json!({"identifier": "h.example/img:2", "version": null, "environmentVariables": [{"name": "K", "isRequired": true}]}),
            ),
            false,
            "io.x-s: docker run -i --rm -e K h.example/img:2 K=${IO_X_S_K}\n",
        ),
        (package("oci", json!({})), false, "io.x-s: docker run -i --rm pkg:1.2.3\n"),
        (
            package("mcpb", json!({})),
            false,
            "not io.x/s: its mcpb package cannot be run without installing it by hand\n",
        ),
        (
            package("npm", json!({"identifier": "--eval=1"})),
            false,
            "not io.x/s: its npm package has no name\n",
        ),
        (
            package("npm", json!({"transport": {"type": "streamable-http"}})),
            false,
            "not io.x/s: its npm package speaks streamable-http, and has to be started by hand\n",
        ),
        (server(json!({})), false, "not io.x/s: it has no package and no remote\n"),
        // A registry cannot choose a variable of the user's.
        (
            package("npm", json!({"identifier": "${AWS_SECRET}"})),
            false,
            "io.x-s: npx -y $${AWS_SECRET}@1.2.3\n",
        ),
        (
            server(
                json!({"remotes": [{"type": "sse", "url": "https://{tenant}.h/{path}/${HOME}", "variables": {"tenant": {"isRequired": true}}, "headers": [{"name": "Authorization", "value": "Bearer {t}", "variables": {"t": {"isSecret": true, "isRequired": true}}}, {"name": "X-Opt"}]}]}),
            ),
            false,
            "io.x-s: https://${IO_X_S_TENANT}.h/{path}/$${HOME} Authorization: Bearer ${IO_X_S_T} X-Opt: ${IO_X_S_X_OPT:-} (sse)\n",
        ),
        (
            server(
                json!({"packages": [{"registry_type": "npm", "identifier": "p", "version": "1", "environment_variables": [{"name": "N", "is_required": true}]}], "remotes": [{"type": "sse", "url": "https://h"}]}),
            ),
            true,
            "io.x-s: npx -y p@1 N=${IO_X_S_N}\n",
        ),
    ] {
        let found = registry::read(&[document], preferred).expect("readable");
        let text = written(&found).replace(note, "");
        let text: String = text
            .lines()
            .skip(1)
            .filter(|l| !l.starts_with("  it needs"))
            .map(|l| l.to_owned() + "\n")
            .collect();
        assert_eq!(text, expected);
    }
    let deleted = json!({"server": {"name": "io.x/s"}, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}});
    assert!(registry::read(&[deleted, json!(5)], false).expect("readable").servers.is_empty());
}
