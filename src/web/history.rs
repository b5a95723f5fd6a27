//! `/servers/{server}/tools/{tool}/history`: the contracts that a tool had, and everything that ever changed, with its verdicts.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    error::Error,
    filters,
    page::{Frame, Path, page},
};
use crate::{
    app::{
        AppError, Kind,
        history::{Changed, ToolHistory},
    },
    diff::Finding,
    guard::Acting,
    name::ServerName,
};

/// Changes that stand here, and findings of each.
const CHANGES: usize = 60;
const FINDINGS: usize = 30;

#[derive(Template)]
#[template(path = "history.html")]
struct History {
    frame: Frame,
    server: ServerName,
    tool: String,
    history: ToolHistory,
    /// The server still lists it.
    listed: bool,
}

impl History {
    fn changes(&self) -> &[Changed] {
        &self.history.changes[..self.history.changes.len().min(CHANGES)]
    }

    fn findings(change: &Changed) -> &[Finding] {
        &change.report.findings[..change.report.findings.len().min(FINDINGS)]
    }
}

/// The past of one tool, whether its server still lists it or not.
pub(super) async fn show_history(
    Acting { app, .. }: Acting,
    Path((server, tool)): Path<(ServerName, String)>,
) -> Result<Response, Error> {
    let listed = app.server(&server).await?.tools.iter().any(|t| t.name == tool);
    let history = app.tool_history(&server, &tool).await?;
    if !listed && history.held.is_empty() && history.changes.is_empty() {
        let message = format!("server `{server}` never listed a tool `{tool}` that a catalog holds");
        let help = "look at the tools of the server, or search for its name";
        return Err(AppError::new(Kind::NotFound, "unknown-tool", message).help(help).into());
    }
    let frame = Frame::new(&app, "/servers");
    Ok(page(StatusCode::OK, &History { frame, server, tool, history, listed }))
}
