//! Registration by hand: one server, as its user describes it.

use super::{Change, shown};
use crate::{
    app::{App, AppError, Kind, access::Right},
    catalog::{ServerSource, ServerSpec},
    config,
    mcp::Source,
};

impl App {
    /// Registers a server. What was said of it beside its source stays, where `spec` says nothing of it. One that is
    /// registered otherwise is left as it is, unless `replace` says so.
    ///
    /// # Errors
    /// Where a secret stands in it in clear, it can never be asked, or it is registered otherwise.
    pub async fn add_server(&self, spec: ServerSpec, replace: bool, actor: &str) -> Result<Change, AppError> {
        self.permit_whole(Right::Configure)?;
        let name = &spec.name;
        let not = |kind, code, cause: String| {
            AppError::new(kind, code, format!("server `{name}` is not registered: {cause}"))
        };
        if let Some(note) = config::clear(&mut spec.clone()).into_iter().next() {
            return Err(not(Kind::Invalid, "secret-in-clear", note)
                .help("write the reference in its place, `'${VARIABLE}'`, in quotes that keep your shell from reading it"));
        }
        can_work(&spec.source).map_err(|cause| not(Kind::Invalid, "invalid-source", cause))?;
        let known = self.store.registration(name).await?.map(|r| r.spec);
        let change = match &known {
            None => Change::New,
            Some(known)
                if known.source == spec.source && spec.interval.is_none_or(|i| known.interval == Some(i)) =>
            {
                return Ok(Change::Unchanged);
            }
            Some(known) if !replace && known.source != spec.source => {
                let cause = format!("it is registered as `{}`", shown(&known.source));
                return Err(not(Kind::Conflict, "registered-otherwise", cause)
                    .help("replace that with `--replace`, or give this one another name"));
            }
            Some(known) => Change::Changed(super::import::difference(known, &spec)),
        };
        let spec = match known {
            None => spec,
            Some(known) => {
                ServerSpec { source: spec.source, interval: spec.interval.or(known.interval), ..known }
            }
        };
        self.register(vec![spec], actor).await?;
        Ok(change)
    }
}

/// Whether a source could be asked, as far as that shows before its references are resolved.
pub(super) fn can_work(source: &ServerSource) -> Result<(), String> {
    match source {
        ServerSource::Http { url, headers, .. } if url.is_literal() => {
            let names = headers.keys().map(|name| (name.clone(), String::new())).collect();
            Source::http(url.as_str(), names).map(|_| ()).map_err(|e| e.to_string())
        }
        ServerSource::Http { .. } | ServerSource::Stdio { .. } => Ok(()),
    }
}
