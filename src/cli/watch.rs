//! `watch`: follows one server in the terminal, and records what it lists whenever that is news.

use std::time::Duration;

use tokio::{sync::mpsc, time::sleep};

use super::{
    Answer,
    context::{self, Access, Context},
    render::safe,
    servers, snapshot,
    source::{self, Chosen},
};
use crate::{
    app::{
        App, AppError, Kind, poll,
        view::{Drift, Recorded},
    },
    mcp::{Ended, Source},
    name::ServerName,
    snapshot::Outcome,
};

/// Follow one server: record its `tools/list` now, and again whenever it says that it changed. A server that cannot tell
/// is asked from time to time. Ends with Ctrl-C.
#[derive(clap::Args)]
#[command(override_usage = "toolpact watch NAME [--interval SECONDS]\n       \
                            toolpact watch NAME [--interval SECONDS] -- COMMAND [ARGS]…\n       \
                            toolpact watch NAME [--interval SECONDS] --url URL [--header KEY=VALUE]…")]
pub(super) struct Args {
    /// The server; where nothing else is said, one that is registered.
    name: ServerName,
    /// Seconds between two listings of a server that cannot tell, and before a lost connection is opened again.
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=2_592_000))]
    interval: u64,
    #[command(flatten)]
    source: source::Args,
}

pub(super) fn run(args: &Args, within: &Context) -> Result<Answer, AppError> {
    let actor = within.actor()?;
    let (access, source) = match args.source.chosen()? {
        None => (Access::Registered, None),
        Some(Chosen::Live(source)) => (Access::Write, Some(source)),
        Some(Chosen::File(_)) => {
            let message = "a saved answer does not change";
            return Err(AppError::new(Kind::Invalid, "invalid-source", message)
                .help("give a command or a URL, or leave the source out for a registered server"));
        }
    };
    let watch = Watch {
        name: &args.name,
        source: source.as_ref(),
        actor: &actor,
        interval: Duration::from_secs(args.interval),
    };
    match within.with_app(access, async |app| watch.run(app).await) {
        // It has no other end.
        Err(error) if error.code == context::INTERRUPTED => Ok(String::new().into()),
        done => done.map(|()| String::new().into()),
    }
}

struct Watch<'a> {
    name: &'a ServerName,
    source: Option<&'a Source>,
    actor: &'a str,
    interval: Duration,
}

impl Watch<'_> {
    /// For ever, or until the store fails or nobody reads.
    async fn run(&self, app: &App) -> Result<(), AppError> {
        let mut lost = 0;
        loop {
            let (sender, mut listings) = mpsc::channel(1);
            let following = async {
                match self.source {
                    None => app.follow(self.name, &sender).await,
                    Some(source) => Ok(app.follow_source(source, &sender).await),
                }
            };
            let mut following = std::pin::pin!(following);
            let ended = loop {
                tokio::select! {
                    biased;
                    Some(listing) = listings.recv() => {
                        lost = if listing.outcome == Outcome::Ok { 0 } else { lost };
                        say(app, &app.record_news(self.name, listing, self.actor).await?)?;
                    }
                    ended = &mut following => break ended?,
                }
            };
            match ended {
                // Only where the receiver above is gone.
                Ended::Unheard => return Ok(()),
                Ended::Unsupported(why) => {
                    tell(app, &format!("{}; asked every {} s", safe::word(&why), self.interval.as_secs()))?;
                    return self.poll(app).await;
                }
                Ended::Lost(listing) => {
                    let recorded = app.record_news(self.name, *listing, self.actor).await?;
                    let again =
                        poll::due(self.name, app.now(), self.interval, lost, &recorded.listing.evidence);
                    lost += 1;
                    say(app, &recorded)?;
                    sleep((again - app.now()).to_std().unwrap_or_default()).await;
                }
            }
        }
    }

    async fn poll(&self, app: &App) -> Result<(), AppError> {
        let mut before = None;
        loop {
            sleep(self.interval).await;
            let recorded = app.ask(self.name, self.source, self.actor).await?;
            let now = (recorded.listing.outcome, recorded.listing.digest.clone());
            if before.replace(now.clone()) != Some(now) {
                say(app, &recorded)?;
            }
        }
    }
}

/// What was recorded, with the time.
fn say(app: &App, recorded: &Recorded) -> Result<(), AppError> {
    let row = &recorded.listing;
    if row.outcome != Outcome::Ok {
        return tell(app, &format!("{}: {}", row.outcome, safe::word(&row.evidence.message)));
    }
    let text = snapshot::written(recorded);
    let text = match recorded.drift {
        // Nothing of it is news but that it is so.
        Drift::Identical => text.lines().next().map(|line| format!("{line}, identical")).unwrap_or_default(),
        Drift::First | Drift::Drift(_) | Drift::Unknown => text.trim_end().to_owned(),
    };
    tell(app, &text)
}

fn tell(app: &App, text: &str) -> Result<(), AppError> {
    // Nobody reads any more: that is an end like any other.
    super::print(&format!("{} {}\n", servers::time(app.now()), text.replace('\n', "\n  ")))
        .map_err(|e| AppError::new(Kind::Unavailable, context::INTERRUPTED, e.to_string()))
}
