//! A server on the Rust SDK.

use rmcp::{
    ServerHandler, ServiceExt as _, handler::server::wrapper::Parameters, schemars, tool, tool_handler,
    tool_router, transport::stdio,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Write {
    /// What the note says.
    text: String,
    /// Words to find it by.
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Search {
    text: String,
    /// The most that are found.
    limit: Option<u8>,
}

struct Notes;

#[tool_router]
impl Notes {
    #[tool(description = "Writes a note down.")]
    async fn write_note(&self, Parameters(Write { text, tags }): Parameters<Write>) -> String {
        format!("{text} ({})", tags.join(", "))
    }

    #[tool(description = "Finds notes that hold a text.", annotations(read_only_hint = true))]
    async fn search_notes(&self, Parameters(Search { text, limit }): Parameters<Search>) -> String {
        format!("{text}: none of {}", limit.unwrap_or(20))
    }
}

#[tool_handler]
impl ServerHandler for Notes {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Notes.serve(stdio()).await?.waiting().await?;
    Ok(())
}
