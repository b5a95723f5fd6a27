//! The version that a server declares, held against the step that its contracts need.

use crate::{
    catalog::Content,
    diff::{Bump, Report},
};

/// A server's own version number against what its contracts need.
pub(super) struct Release<'d> {
    pub(super) server: &'d str,
    pub(super) before: Option<&'d str>,
    pub(super) now: Option<&'d str>,
    pub(super) needs: Bump,
    /// Whether the declared step is large enough; unknown where a number is missing or no semver.
    pub(super) enough: Option<bool>,
}

/// The releases of what a draft holds.
pub(super) fn releases<'d>(report: &Report, base: Option<&'d Content>, now: &'d Content) -> Vec<Release<'d>> {
    let declared = |content: &'d Content, server: &str| {
        content
            .servers
            .iter()
            .find(|p| p.server.as_str() == server)
            .and_then(|p| p.provenance.server_version())
    };
    now.servers
        .iter()
        .map(|pin| {
            let server = pin.server.as_str();
            let of_server = report.tools.iter().filter(|t| t.server == server);
            let needs = of_server.map(|t| t.required_bump).max().unwrap_or(Bump::None);
            let before = base.and_then(|b| declared(b, server));
            let now = pin.provenance.server_version();
            let enough = before.zip(now).and_then(|(b, n)| declared_step(b, n)).map(|step| step >= needs);
            Release { server, before, now, needs, enough }
        })
        .collect()
}

/// The step between two declared versions; nothing where one is no semver or the step goes back.
fn declared_step(before: &str, now: &str) -> Option<Bump> {
    let before: semver::Version = before.trim_start_matches('v').parse().ok()?;
    let now: semver::Version = now.trim_start_matches('v').parse().ok()?;
    if now < before {
        return None;
    }
    Some(if now.major != before.major {
        Bump::Major
    } else if now.minor != before.minor {
        // Before 1.0.0 the minor number is the one that announces breaks.
        if now.major == 0 { Bump::Major } else { Bump::Minor }
    } else if now != before {
        Bump::Patch
    } else {
        Bump::None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_step_is_read_from_two_versions() {
        let check = |before: &str, now: &str, step: Option<Bump>| {
            assert_eq!(declared_step(before, now), step, "{before} to {now}");
        };
        check("1.4.0", "2.0.0", Some(Bump::Major));
        check("1.4.0", "1.5.0", Some(Bump::Minor));
        check("1.4.0", "1.4.1", Some(Bump::Patch));
        check("1.4.0", "1.4.0", Some(Bump::None));
        check("v0.3.1", "v0.4.0", Some(Bump::Major));
        check("0.3.1", "0.3.2", Some(Bump::Patch));
        check("1.4.0", "1.3.9", None);
        check("2025.01.12", "2025.02.01", None);
        check("latest", "1.0.0", None);
    }
}
