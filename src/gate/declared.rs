//! Declared versions: what a server or a tool says its version is, and what it had to be after what changed.

use std::collections::BTreeMap;

use semver::Version;
use serde::Serialize;
use serde_json::Value;

use crate::diff::{Bump, Side, ToolReport};

/// A version that somebody declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The version, as it stands there.
    pub version: String,
    /// Where: `package.json`, `serverInfo`, `_meta`.
    pub place: String,
}

/// A declared version, held against what changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionCheck {
    /// The server; empty where nobody says.
    pub server: String,
    /// The tool, where it declares a version of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Where the version is declared.
    pub place: String,
    /// What it was.
    pub was: String,
    /// What it is.
    pub declared: String,
    /// The least that it has to be.
    pub needed: String,
    /// Why: what changed.
    pub bump: Bump,
    /// Whether it is that.
    pub enough: bool,
}

/// Holds a version against what changed. Nothing where either is no semantic version: then nothing is promised by it.
#[must_use]
pub fn check(
    server: &str,
    tool: Option<&str>,
    was: &str,
    declared: &Declared,
    bump: Bump,
) -> Option<VersionCheck> {
    let (before, now) = (read(was)?, read(&declared.version)?);
    let needed = needed(&before, bump);
    Some(VersionCheck {
        server: server.to_owned(),
        tool: tool.map(str::to_owned),
        place: declared.place.clone(),
        was: was.to_owned(),
        declared: declared.version.clone(),
        needed: needed.to_string(),
        bump,
        // A pre-release of what is needed says as much as the release.
        enough: (now.major, now.minor, now.patch) >= (needed.major, needed.minor, needed.patch),
    })
}

/// What a version has to become. Below 1.0.0 the second number is the one that says "breaks" (as Cargo and npm read it).
fn needed(was: &Version, bump: Bump) -> Version {
    let Version { major, minor, patch, .. } = *was;
    match (bump, major) {
        (Bump::None, _) => was.clone(),
        (Bump::Major, 0) => Version::new(0, minor.saturating_add(1), 0),
        (Bump::Major, _) => Version::new(major.saturating_add(1), 0, 0),
        (Bump::Minor, 1..) => Version::new(major, minor.saturating_add(1), 0),
        (Bump::Minor, 0) | (Bump::Patch, _) => Version::new(major, minor, patch.saturating_add(1)),
    }
}

/// A semantic version, or what people write for one: `v1.2.3`, `1.2`.
fn read(text: &str) -> Option<Version> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let parse = |text: &str| Version::parse(text).ok();
    parse(text).or_else(|| parse(&format!("{text}.0"))).or_else(|| parse(&format!("{text}.0.0")))
}

/// The versions that tools of a side declare of themselves, by tool.
#[must_use]
pub fn of_tools(side: &Side) -> BTreeMap<String, Declared> {
    let contracts = side.servers.iter().flat_map(|(_, contracts)| contracts);
    contracts.filter_map(|c| Some((c.name.clone(), of_tool(c.tool())?))).collect()
}

/// The versions of one server and of its tools, before and now, held against what changed of it. `before` and `now` say which a
/// tool declares of itself.
pub fn of_server<'r>(
    server: &str,
    changed: impl Iterator<Item = &'r ToolReport> + Clone,
    (was, declared): (Option<&str>, Option<&Declared>),
    before: impl Fn(&str) -> Option<String>,
    now: impl Fn(&str) -> Option<Declared>,
) -> Vec<VersionCheck> {
    let bump = changed.clone().map(|tool| tool.required_bump).max().unwrap_or(Bump::None);
    let mut checks = Vec::new();
    if let (Some(was), Some(declared)) = (was, declared) {
        checks.extend(check(server, None, was, declared, bump));
    }
    for ToolReport { tool, required_bump, .. } in changed {
        if let (Some(was), Some(now)) = (before(tool), now(tool)) {
            checks.extend(check(server, Some(tool), &was, &now, *required_bump));
        }
    }
    checks
}

/// The version that a tool declares in its `_meta`: `version`, or a name of somebody's own for it (`com.example/version`).
#[must_use]
pub fn of_tool(tool: &Value) -> Option<Declared> {
    let meta = tool.get("_meta")?.as_object()?;
    let is_version = |name: &str| name.rsplit('/').next() == Some("version");
    let (name, version) =
        meta.iter().find_map(|(name, value)| is_version(name).then_some((name, value.as_str()?)))?;
    Some(Declared { version: version.to_owned(), place: format!("`_meta` `{name}`") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_to_say_what_changed() {
        for (was, declared, bump, needed, enough) in [
            ("1.4.0", "1.5.0", Bump::Major, "2.0.0", false),
            ("1.4.0", "2.0.0", Bump::Major, "2.0.0", true),
            ("1.4.0", "2.0.0-rc.1", Bump::Major, "2.0.0", true),
            ("1.4.0", "1.4.0", Bump::None, "1.4.0", true),
            ("1.4.0", "1.4.1", Bump::Minor, "1.5.0", false),
            ("1.4.2", "1.4.2", Bump::Patch, "1.4.3", false),
            ("0.4.0", "0.5.0", Bump::Major, "0.5.0", true),
            ("0.4.0", "0.4.1", Bump::Minor, "0.4.1", true),
            ("v1.2", "v2", Bump::Major, "2.0.0", true),
        ] {
            let declared = Declared { version: declared.to_owned(), place: "package.json".to_owned() };
            let check = check("s", None, was, &declared, bump).expect("both are versions");
            assert_eq!((check.needed.as_str(), check.enough), (needed, enough), "{was} {bump}");
        }
        let dated = Declared { version: "nightly".to_owned(), place: String::new() };
        assert_eq!(check("s", None, "1.0.0", &dated, Bump::Major), None);
    }

    #[test]
    fn a_tool_may_declare_a_version_of_its_own() {
        let of = |meta: Value| of_tool(&serde_json::json!({ "_meta": meta })).map(|d| d.version);
        assert_eq!(of(serde_json::json!({"version": "1.2.0"})), Some("1.2.0".to_owned()));
        assert_eq!(of(serde_json::json!({"a": 1, "com.example/version": "2.0.0"})), Some("2.0.0".to_owned()));
        assert_eq!(of(serde_json::json!({"version": 2})), None);
        assert_eq!(of(Value::Null), None);
    }
}
