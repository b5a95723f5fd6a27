//! A server on the official Rust SDK: `served stdio`, or `served streamable-http PORT`.

use rmcp::{
    Json, ServerHandler, ServiceExt as _,
    handler::server::wrapper::Parameters,
    schemars, tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
    },
};

/// Two numbers.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first: 1 → 1.
    a: i64,
    #[serde(default)]
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Find {
    text: String,
    kinds: Option<Vec<Kind>>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Kind {
    Note { day: u8 },
    Task,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Found {
    score: f64,
    places: Vec<String>,
}

struct Server;

#[tool_router]
impl Server {
    #[tool(description = "Adds two numbers: 1 + 1 → 2.", annotations(read_only_hint = true))]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        (a + b).to_string()
    }

    #[tool(description = "Finds what holds the text.")]
    async fn find(&self, Parameters(Find { text, kinds }): Parameters<Find>) -> Json<Found> {
        let places = kinds.into_iter().flatten().map(|kind| match kind {
            Kind::Note { day } => format!("{text} on day {day}"),
            Kind::Task => text.clone(),
        });
        Json(Found { score: 0.5, places: places.collect() })
    }
}

#[tool_handler]
impl ServerHandler for Server {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("stdio"), None) => {
            Server.serve(stdio()).await?.waiting().await?;
        }
        (Some("streamable-http"), Some(port)) => {
            let service = StreamableHttpService::new(
                || Ok(Server),
                LocalSessionManager::default().into(),
                Default::default(),
            );
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
            eprintln!("running on {}", listener.local_addr()?);
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        }
        _ => return Err("expected `stdio`, or `streamable-http` and a port".into()),
    }
    Ok(())
}
