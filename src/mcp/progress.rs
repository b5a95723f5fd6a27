//! How far asking a server has come, for whoever waits for it and looks on. It changes nothing, and says less than the listing
//! that comes of it.

use tokio::sync::watch;

/// A step of asking a server. Only the newest is kept: one that took no time may never be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Taken on; what its source refers to is looked up.
    Queued,
    /// Started or called, and not heard of yet.
    Connecting,
    /// Its tools are read.
    Listing {
        /// Pages so far.
        pages: usize,
        /// Tools so far.
        tools: usize,
    },
    /// It answered, and what it said is held against what is known.
    Comparing,
}

/// Where steps are told. The default tells nobody.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<watch::Sender<Step>>);

impl Progress {
    /// One that somebody looks at.
    #[must_use]
    pub fn watched() -> (Self, watch::Receiver<Step>) {
        let (tell, told) = watch::channel(Step::Queued);
        (Self(Some(tell)), told)
    }

    /// Tells of a step. Whether anybody still looks does not matter.
    pub fn at(&self, step: Step) {
        if let Some(tell) = &self.0 {
            tell.send_replace(step);
        }
    }
}
