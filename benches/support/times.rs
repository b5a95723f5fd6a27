//! Times of many short works, and how they are told.

use std::time::{Duration, Instant};

/// Rounds of each work; the quickest counts, for one is too short to be told from what else the machine does.
pub(crate) const ROUNDS: usize = 5;

/// How long a work takes, and what it made: giving that back is no part of it.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}

/// Prints how times are spread, and which is the worst.
pub(crate) fn row(what: &str, mut times: Vec<(Duration, &str)>) {
    times.sort();
    let Some((worst, name)) = times.last() else { return };
    let n = times.len();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "{n} {what}: median {:.0} µs, p90 {:.0} µs, p99 {:.0} µs, worst {:.0} µs ({name})",
        micros(times[n / 2].0),
        micros(times[n * 9 / 10].0),
        micros(times[n * 99 / 100].0),
        micros(*worst),
    );
}
