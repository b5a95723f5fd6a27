//! `/waivers`: what is accepted for a time, those that end first before the others.

use askama::Template;
use axum::{http::StatusCode, response::Response};
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    error::Error,
    filters,
    page::{Frame, page},
};
use crate::{catalog::review::Decision, guard::Acting};

/// How many stand here; more than that nobody keeps an eye on.
const SHOWN: usize = 200;

/// A waiver that ends within this is about to.
pub(super) const SOON: TimeDelta = TimeDelta::days(14);

#[derive(Template)]
#[template(path = "waivers.html")]
struct Waivers {
    frame: Frame,
    /// Those that end first before the others.
    waivers: Vec<Decision>,
    left_out: usize,
    /// Those that have ended, the last first.
    ended: Vec<Decision>,
}

impl Waivers {
    fn is_soon(&self, waiver: &Decision) -> bool {
        !waiver.is_expired(self.frame.now) && ends_soon(waiver, self.frame.now)
    }
}

/// Whether a waiver ends so soon that somebody should see to it.
pub(super) fn ends_soon(waiver: &Decision, now: DateTime<Utc>) -> bool {
    waiver.expires.is_some_and(|end| end <= now + SOON)
}

/// Every waiver of every catalog.
pub(super) async fn show_waivers(Acting { app, .. }: Acting) -> Result<Response, Error> {
    let frame = Frame::new(&app, "/waivers");
    let (mut ended, mut waivers): (Vec<_>, Vec<_>) =
        app.waivers().await?.into_iter().partition(|waiver| waiver.is_expired(frame.now));
    ended.reverse();
    ended.truncate(SHOWN);
    let left_out = waivers.len().saturating_sub(SHOWN);
    waivers.truncate(SHOWN);
    Ok(page(StatusCode::OK, &Waivers { frame, waivers, left_out, ended }))
}
