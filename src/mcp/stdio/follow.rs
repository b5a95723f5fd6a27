//! Following a server over stdio: what it says between two answers.

use tokio::{sync::mpsc::Sender, time::Instant};

use crate::{
    mcp::{
        Limits,
        changes::{self, Followed, Stop},
        era::Dialect,
        message,
        process::Start,
        record::{Failure, Record},
    },
    snapshot::{Listing, Outcome},
};

use super::{BEFORE, Begun, Connection, Heard};

/// Starts the server and follows it.
pub(in crate::mcp) async fn follow(
    start: &Start<'_>,
    limits: &Limits,
    record: &mut Record,
    listings: &Sender<Listing>,
) -> Stop {
    let mut connection = match Connection::open(start, limits, record) {
        Ok(connection) => connection,
        Err(failure) => return Stop::Failed(failure),
    };
    let stop = match connection.begin(start).await {
        Ok(Begun::Settled) => match changes::follow(&mut connection, listings).await {
            Ok(never) => match never {},
            Err(stop) => stop,
        },
        Ok(Begun::Gone) => Stop::Failed(connection.gone(BEFORE).await),
        Err(failure) => Stop::Failed(failure),
    };
    connection.close().await;
    stop
}

impl Connection<'_> {
    /// Waits for the answer to the subscription: its acknowledgement, or a refusal.
    async fn acknowledged(&mut self, id: u64) -> Result<Option<String>, Stop> {
        let until = self.until(self.limits.request);
        loop {
            if let Some(honoured) = self.record.acknowledged {
                // Its answer comes when it ends.
                self.pending.retain(|pending| *pending != id);
                return Ok(
                    (!honoured).then(|| changes::refused(self.record, "it honours no such subscription"))
                );
            }
            match self.line(until).await? {
                Heard::Answer(of, reply) if of == id => {
                    let how =
                        reply.err().map_or("it ends the subscription".to_owned(), |e| message::describe(&e));
                    return Ok(Some(changes::refused(self.record, &how)));
                }
                Heard::End => return Err(self.gone(BEFORE).await.into()),
                Heard::Silence => {
                    return Err(self.timeout("answer `subscriptions/listen`", self.limits.request).into());
                }
                Heard::Answer(..) | Heard::Other if self.now() >= until => {
                    return Err(self.timeout("answer `subscriptions/listen`", self.limits.request).into());
                }
                Heard::Answer(..) | Heard::Other => {}
            }
        }
    }
}

impl Followed for Connection<'_> {
    async fn subscribe(&mut self) -> Result<Option<String>, Stop> {
        let Dialect::Modern(_) = self.dialect else { return Ok(changes::undeclared(self.record)) };
        let params = self.dialect.listen_params();
        let id = self.send("subscriptions/listen", &params).await;
        self.subscription = Some(id);
        self.acknowledged(id).await
    }

    async fn told(&mut self) -> Result<(), Stop> {
        while self.record.heard.is_empty() {
            if let (Dialect::Modern(_), None) = (&self.dialect, self.subscription) {
                let message = format!("{} ended the subscription", self.record.name());
                return Err(Failure::new(Outcome::Unavailable, message).help("it is asked for again").into());
            }
            if let Heard::End = self.line(changes::never()).await? {
                return Err(self.gone("while it was followed").await.into());
            }
        }
        Ok(())
    }

    fn deadline(&mut self) -> &mut Instant {
        &mut self.deadline
    }
}
