//! How a conversation over HTTP begins and ends: the era, the session.

use tokio::time::{Duration, timeout_at};

use crate::{
    catalog::server::HttpTransport,
    mcp::{
        era::{self, Dialect, Discovery, Over},
        message,
        record::Try,
        spoken::Spoken,
    },
    snapshot::{Outcome, Transport},
};

use super::{COURTESY, Connection, SESSION};

impl Connection<'_> {
    /// Begins as its user says, or as it was begun before; where that proves wrong or nobody knows, it is found out.
    pub(super) async fn begin(&mut self) -> Try<()> {
        self.authorize_ahead().await?;
        if self.transport == HttpTransport::Sse {
            return self.begin_only_http_sse().await;
        }
        if let Some(spoken) = self.limits.eras.get(&self.known_by) {
            match self.begin_as(spoken).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(failure) => {
                    self.limits.eras.forget(&self.known_by);
                    // Not reached, not now or not for us: the other ways to begin would fare no better.
                    let is_answer = matches!(failure.outcome, Outcome::Error | Outcome::Malformed)
                        || matches!(failure.http_status, Some(400..=428 | 430..=499));
                    if !is_answer || failure.outcome == Outcome::AuthRequired {
                        return Err(failure);
                    }
                }
            }
        }
        self.find_out().await?;
        let spoken = match (&self.dialect, self.record.provenance.transport) {
            (Dialect::Modern(_), _) => Spoken::Modern,
            (Dialect::Legacy(_), Transport::Sse) => Spoken::HttpSse,
            (Dialect::Legacy(_), Transport::Http | Transport::Stdio | Transport::File) => Spoken::Legacy,
        };
        self.limits.eras.put(self.known_by.clone(), spoken);
        Ok(())
    }

    /// `false` where it is seen to speak something else.
    async fn begin_as(&mut self, spoken: Spoken) -> Try<bool> {
        match spoken {
            Spoken::Modern => self.discover(self.limits.start).await,
            Spoken::Legacy => self.initialize().await.map(|()| true),
            Spoken::HttpSse => {
                let url = self.endpoint.url.clone();
                let begun = self.begin_http_sse().await;
                if !matches!(begun, Ok(true)) {
                    (self.endpoint.url, self.stream) = (url, None);
                    self.record.provenance.transport = Transport::Http;
                }
                begun
            }
        }
    }

    /// Asks the modern way first. A server that knows it not refuses with some 4xx or some error; one that says nothing
    /// for a while is asked the legacy way, and, where it refuses that, the modern way again with all the time there is.
    async fn find_out(&mut self) -> Try<()> {
        let silent = match self.discover(self.limits.probe).await {
            Ok(true) => return Ok(()),
            Ok(false) => false,
            Err(failure) if failure.outcome == Outcome::Timeout => true,
            Err(failure) => return Err(failure),
        };
        let Err(refusal) = self.initialize().await else { return Ok(()) };
        // The order is the specification's (2026-07-28, basic/transports/streamable-http, backward compatibility),
        // whatever the URL looks like. A POST that opens the old transport's stream tells as well.
        let refused = (matches!(refusal.http_status, Some(400 | 404 | 405)) || self.old_transport)
            && refusal.outcome != Outcome::AuthRequired
            && self.transport != HttpTransport::StreamableHttp;
        if refused && self.begin_http_sse().await? {
            return Ok(());
        }
        let again = matches!(refusal.outcome, Outcome::Error | Outcome::Unavailable | Outcome::Malformed);
        if silent && again && self.discover(self.limits.start).await? {
            return Ok(());
        }
        Err(refusal)
    }

    /// Whether the server is modern; it is described then.
    async fn discover(&mut self, budget: Duration) -> Try<bool> {
        self.dialect = Dialect::Modern(era::MODERN.to_owned());
        let mut again = 0;
        loop {
            let params = self.dialect.params(None);
            let reply = match self.request("server/discover", &params, self.until(budget)).await {
                Ok(reply) => reply,
                Err(failure) if failure.outcome == Outcome::AuthRequired => return Err(failure),
                Err(failure) if failure.outcome == Outcome::Malformed => return Ok(false),
                Err(failure) => match (failure.http_status, failure.rpc_error.clone()) {
                    // Not reached, or not now: the other way to begin would fare no better.
                    (None | Some(429 | 502 | 503 | 504), _) => return Err(failure),
                    (Some(_), Some(error)) => Err(error),
                    (Some(_), None) => return Ok(false),
                },
            };
            match era::discovery(&reply, again, Over::Http) {
                Discovery::Modern { version, about } => {
                    self.dialect = era::note_discovery(self.record, &version, &about);
                    return Ok(true);
                }
                Discovery::AskAgain(version) => {
                    again += 1;
                    self.dialect = Dialect::Modern(version);
                }
                Discovery::Refused(error) => return Err(era::refused(self.record, error)),
                Discovery::Legacy => return Ok(false),
            }
        }
    }

    pub(super) async fn initialize(&mut self) -> Try<()> {
        // Unknown until the answer: no version header yet.
        self.dialect = Dialect::Legacy(String::new());
        self.session = None;
        let until = self.until(self.limits.start);
        let reply = self.request("initialize", &era::initialize_params(), until).await?;
        self.dialect = era::note_initialize(self.record, reply)?;
        let until = self.until(self.limits.request);
        let body = message::notification("notifications/initialized");
        // Its answer has no content; a server that refuses it will say so again.
        let _ = self.post("notifications/initialized", body, until).await;
        Ok(())
    }

    /// Legacy sessions want a goodbye.
    pub(super) async fn end_session(&mut self) {
        let Some(session) = self.session.take() else { return };
        let request = self
            .client
            .delete(self.endpoint.url.clone())
            .headers(self.endpoint.headers.clone())
            .headers(self.version_header())
            .header(SESSION, session);
        let _ = timeout_at(self.clock(self.until(COURTESY)), request.send()).await;
    }
}
