//! What a server offers beside its tools: prompts, resources, resource templates. Recorded and compared, never judged.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use super::{Outcome, RawItem, digest_of_list, raw_digest};
use crate::json::{self, Digest};

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SurfaceKind {
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
}

impl SurfaceKind {
    /// Every kind, in the order in which they are asked for.
    pub const ALL: [Self; 3] = [Self::Prompts, Self::Resources, Self::ResourceTemplates];

    /// The word used in documents and the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource_templates",
        }
    }

    /// The capability that a server declares which has it.
    #[must_use]
    pub fn capability(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources | Self::ResourceTemplates => "resources",
        }
    }

    /// The member that tells two items apart (schema 2026-07-28: `Prompt`, `Resource`, `ResourceTemplate`).
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Prompts => "name",
            Self::Resources => "uri",
            Self::ResourceTemplates => "uriTemplate",
        }
    }
}

impl fmt::Display for SurfaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource templates",
        })
    }
}

/// How the listing of one surface ended, and what it brought. It never changes how the tools' listing ended.
#[derive(Debug, Clone)]
pub struct SurfaceListing {
    /// Which.
    pub kind: SurfaceKind,
    /// How it ended.
    pub outcome: Outcome,
    /// One sentence: what happened; empty for `ok`.
    pub message: String,
    /// The items; complete only where `outcome` is `ok`.
    pub items: Vec<RawItem>,
    /// Over the raw digests of the items, in order; for `ok`, and only then.
    pub digest: Option<Digest>,
}

impl SurfaceListing {
    /// A surface that was read to its end.
    #[must_use]
    pub fn read(kind: SurfaceKind, items: Vec<RawItem>) -> Self {
        let digest = Some(digest_of_list(&items));
        Self { kind, outcome: Outcome::Ok, message: String::new(), items, digest }
    }

    /// A surface that was not.
    #[must_use]
    pub fn failed(kind: SurfaceKind, outcome: Outcome, message: String) -> Self {
        Self { kind, outcome, message, items: Vec::new(), digest: None }
    }
}

/// How one surface differs from the one before, item by item. Says nothing of what that means to anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceDiff {
    /// Which.
    pub kind: SurfaceKind,
    /// Names or URIs that are new.
    pub added: Vec<String>,
    /// Names or URIs that are gone.
    pub removed: Vec<String>,
    /// Names or URIs whose item says something else.
    pub changed: Vec<String>,
}

impl SurfaceDiff {
    /// What differs between two lists of a kind. The order of items counts for nothing, and neither does notation.
    #[must_use]
    pub fn of(kind: SurfaceKind, before: &[RawItem], after: &[RawItem]) -> Self {
        let (before, mut after) = (keyed(kind, before), keyed(kind, after));
        let mut diff = Self { kind, added: Vec::new(), removed: Vec::new(), changed: Vec::new() };
        for (key, digest) in before {
            match after.remove(&key) {
                None => diff.removed.push(key.0),
                Some(now) if now != digest => diff.changed.push(key.0),
                Some(_) => {}
            }
        }
        diff.added = after.into_keys().map(|(name, _)| name).collect();
        diff
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// `+1 -0 ~2`: added, removed, changed.
    #[must_use]
    pub fn counts(&self) -> String {
        format!("+{} -{} ~{}", self.added.len(), self.removed.len(), self.changed.len())
    }
}

/// Digests by what tells items apart. Of items that share it each counts, in order.
fn keyed(kind: SurfaceKind, items: &[RawItem]) -> BTreeMap<(String, usize), Digest> {
    let mut out = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for item in items {
        let value = json::parse(item.raw.get()).ok();
        let key = value.as_ref().and_then(|v| v.get(kind.key())?.as_str());
        // An item without one is known by where it stands.
        let key = key.map_or_else(|| format!("#{}", item.index), str::to_owned);
        let nth = counts.entry(key.clone()).or_default();
        out.insert((key, *nth), raw_digest(item.raw.get()));
        *nth += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::split;

    #[test]
    fn surfaces_are_compared_item_by_item() {
        for (before, after, expected) in [
            (r#"[]"#, r#"[]"#, "[] [] []"),
            (r#"[{"name":"a"}]"#, r#"[{"name":"b"}]"#, r#"["b"] ["a"] []"#),
            (r#"[{"name":"a"},{"name":"b"}]"#, r#"[{"name":"b"}, { "name" : "a" }]"#, "[] [] []"),
            (r#"[{"name":"a","title":"A"}]"#, r#"[{"name":"a","title":"B"}]"#, r#"[] [] ["a"]"#),
            // The same name twice, and items without one.
            (r#"[{"name":"a"},{"name":"a","x":1}]"#, r#"[{"name":"a"}]"#, r#"[] ["a"] []"#),
            (r#"[{"name":"a"},1]"#, r#"[{"name":"a"},2,{"name":3}]"#, r##"["#2"] [] ["#1"]"##),
        ] {
            let list = |text| split(text).expect("an array");
            let diff = SurfaceDiff::of(SurfaceKind::Prompts, &list(before), &list(after));
            let found = format!("{:?} {:?} {:?}", diff.added, diff.removed, diff.changed);
            assert_eq!(found, expected, "{before} to {after}");
            assert_eq!(diff.is_empty(), expected == "[] [] []");
        }
        let uris = split(r#"[{"uri":"x://1","name":"one"}]"#).expect("an array");
        let diff = SurfaceDiff::of(SurfaceKind::Resources, &[], &uris);
        assert_eq!(
            (diff.added, SurfaceDiff::of(SurfaceKind::Resources, &uris, &[]).counts()),
            (vec!["x://1".to_owned()], "+0 -1 ~0".to_owned())
        );
    }
}
