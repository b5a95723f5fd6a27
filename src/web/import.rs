//! `/import`: the servers of a host's configuration, pasted. What a URL finds is registered; a command, or what refers to this
//! machine, is shown with the line that adds it there.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use serde::Deserialize;

use super::{
    error::{self, Error},
    filters,
    page::{Form, Frame, page},
};
use crate::{
    app::{
        App,
        servers::{Change, Pasted},
    },
    guard::Acting,
};

/// Bytes of a form: a configuration of a quarter of this, however its characters are encoded.
pub(super) const MAX_BYTES: usize = 1 << 20;

#[derive(Template)]
#[template(path = "import.html")]
struct Import {
    frame: Frame,
    /// What came of it, where something was pasted.
    done: Option<Pasted>,
    notice: Option<(String, String)>,
    typed: ImportForm,
}

impl Import {
    /// Servers that are registered otherwise, so that nothing was written.
    fn stopped(&self) -> bool {
        self.done.as_ref().is_some_and(|done| !done.import.applied && done.import.changed().next().is_some())
    }
}

/// The form.
pub(super) async fn show_import(Acting { app, .. }: Acting) -> Page {
    Ok(shown(&app, None, None, ImportForm::default()))
}

type Page = Result<Response, Error>;

/// A configuration.
#[derive(Default, Deserialize)]
pub(super) struct ImportForm {
    #[serde(default)]
    text: String,
    /// A ticked box is sent as `on`, an empty one not at all.
    replace: Option<String>,
}

/// Registers what may be registered, and shows what came of each.
pub(super) async fn import_servers(Acting { app, actor }: Acting, Form(form): Form<ImportForm>) -> Page {
    match app.import_pasted(&form.text, form.replace.is_some(), &actor).await {
        Ok(done) => Ok(shown(&app, Some(done), None, form)),
        Err(e) => {
            let status = error::kind(e.kind).0;
            Ok(shown(&app, None, Some((status, error::told(e))), form))
        }
    }
}

fn shown(
    app: &App,
    done: Option<Pasted>,
    failure: Option<(StatusCode, (String, String))>,
    typed: ImportForm,
) -> Response {
    let (status, notice) = failure.map_or((StatusCode::OK, None), |(status, told)| (status, Some(told)));
    page(status, &Import { frame: Frame::new(app, "/servers"), done, notice, typed })
}
