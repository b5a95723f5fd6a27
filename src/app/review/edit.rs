//! Edits of a pending draft, by a JSON Patch on what it holds.

use std::collections::BTreeSet;

use json_patch::PatchOperation;
use serde_json::{Value, json};

use super::{busy, moved_draft};
use crate::{
    app::{
        App, AppError, Kind,
        access::{Object, Right},
        drafts::Judged,
    },
    catalog::{Catalog, Content, Draft, draft::Release},
    json::Digest,
    name::CatalogName,
    store::{NewEdit, StoreError},
};

/// What a patch may add to twice of what a draft holds, in bytes.
const MAX_PATCHED: usize = 64 << 10;
/// How deep a patch may nest. What a server says of itself, which stands in a draft, is nested no deeper than half of it.
const MAX_NESTED: usize = 256;

impl App {
    /// Edits a pending draft by a JSON Patch (RFC 6902) on its content. A member may be taken out, taken in again, marked
    /// as deprecated or experimental, or be given a higher contractVersion; what it is, and where it came from, is the
    /// servers' word. The draft is judged anew, and approvals of what it held before count no more.
    ///
    /// # Errors
    /// Where the draft is not pending, holds something else than `seen`, or the patch asks for more than that.
    pub async fn edit(
        &self,
        catalog: &CatalogName,
        id: i64,
        seen: Option<&Digest>,
        patch: &Value,
        actor: &str,
    ) -> Result<Draft, AppError> {
        self.permit(Right::Draft, Object::catalog(catalog))?;
        let basis = self.basis([format!("catalog/{catalog}")]).await?;
        let settings = self.known_catalog(catalog).await?;
        let draft = self.pending_draft(catalog, id).await?;
        if let Some(seen) = seen
            && *seen != draft.digest
        {
            return Err(moved_draft(&draft, seen));
        }
        let edited = patched(&draft, patch)?;
        let base = match draft.base {
            Some(number) => Some(self.version(catalog, number).await?),
            None => None,
        };
        let offered = self.offered(&settings, &draft).await?;
        let whole = self.judged(&settings, base.as_ref(), &offered).await?.content;
        allowed(&edited, &whole)?;
        let held =
            self.releases_of(&Content { servers: draft.content.servers.clone(), ..edited.clone() }).await?;
        let Judged { content, report, earlier } = self.judged(&settings, base.as_ref(), &held).await?;
        let content = with_words(content, &edited);
        if content.digest() == draft.digest {
            let message = format!("the patch changes nothing in draft `d-{id}`");
            return Err(AppError::new(Kind::Conflict, "nothing-changed", message));
        }
        let data = json!({
            "draft": id, "before": draft.digest, "digest": content.digest(), "verdict": report.verdict, "ruleSet": report.rule_set,
            "tools": touched(&draft.content, &content),
        });
        let event = self.event(actor, "draft.edited", format!("catalog/{catalog}"), data);
        let (seen, editor) = (draft.digest.clone(), actor.to_owned());
        let edit = NewEdit { basis, draft: id, seen: seen.clone(), content, report, earlier, editor };
        match self.store.edit_draft(edit, event).await {
            Err(StoreError::DraftChanged) => Err(moved_draft(&self.pending_draft(catalog, id).await?, &seen)),
            Err(StoreError::Shifted) => Err(busy(catalog)),
            done => {
                done?;
                self.get_draft(catalog, id).await
            }
        }
    }

    /// The releases of a draft with all tools that the catalog selects, also those that an edit took out.
    async fn offered(&self, catalog: &Catalog, draft: &Draft) -> Result<Vec<Release>, AppError> {
        let mut releases = Vec::new();
        for pin in &draft.content.servers {
            let (_, mut contracts) = self.contracts(&pin.server, &pin.snapshot).await?;
            if let Some(server) = catalog.servers.iter().find(|s| s.name == pin.server) {
                let selected = server.tools.matcher();
                contracts.retain(|c| selected.holds(&c.name));
            }
            releases.push(Release { pin: pin.clone(), contracts });
        }
        Ok(releases)
    }
}

/// The content of a draft after a patch.
fn patched(draft: &Draft, patch: &Value) -> Result<Content, AppError> {
    let invalid = |cause: String| {
        AppError::new(Kind::Invalid, "bad-patch", format!("the patch of draft `d-{}` {cause}", draft.id))
            .help("it is an RFC 6902 patch on the draft's content: `members`, each with `tool`, `status`, `contractVersion`")
    };
    let patch: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|e| invalid(format!("is no JSON Patch: {e}")))?;
    let mut document =
        serde_json::to_value(&draft.content).map_err(|e| invalid(format!("cannot begin: {e}")))?;
    let most = 2 * weight(&document, MAX_NESTED).unwrap_or_default() + MAX_PATCHED;
    for (at, operation) in patch.iter().enumerate() {
        json_patch::patch(&mut document, std::slice::from_ref(operation)).map_err(|mut e| {
            e.operation = at;
            invalid(format!("cannot be applied: {e}"))
        })?;
        // A few bytes of these two double or nest what is there, again and again.
        let grows = matches!(operation, PatchOperation::Copy(_) | PatchOperation::Move(_));
        if grows && weight(&document, MAX_NESTED).is_none_or(|weight| weight > most) {
            return Err(invalid(format!(
                "makes too much of it: operation {at} copies or nests beyond all use"
            )));
        }
    }
    let edited: Content = serde_json::from_value(document)
        .map_err(|e| invalid(format!("leaves no content of a draft: {e}")))?;
    if edited.digest_policy != draft.content.digest_policy || edited.servers != draft.content.servers {
        return Err(invalid("changes more than its members".to_owned()));
    }
    Ok(edited)
}

/// How much a value holds: its values, and the bytes of its texts. Nothing where it is nested deeper than this.
fn weight(value: &Value, deep: usize) -> Option<usize> {
    let deep = deep.checked_sub(1)?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(1),
        Value::String(text) => Some(1 + text.len()),
        Value::Array(items) => items.iter().try_fold(1, |sum, item| Some(sum + weight(item, deep)?)),
        Value::Object(members) => {
            members.iter().try_fold(1, |sum, (name, item)| Some(sum + name.len() + weight(item, deep)?))
        }
    }
}

/// The tools of which an edit changed something.
fn touched(before: &Content, after: &Content) -> Vec<String> {
    let all = before.members.iter().chain(&after.members);
    let mut names: Vec<String> = all
        .filter(|m| before.members.contains(m) != after.members.contains(m))
        .map(|m| m.server.as_ref().map_or(m.tool.clone(), |s| format!("{s}/{}", m.tool)))
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Whether an edited content is what its servers offer, or less.
fn allowed(edited: &Content, whole: &Content) -> Result<(), AppError> {
    let refused = |tool: &str, cause: String| {
        AppError::new(Kind::Invalid, "bad-edit", format!("tool `{tool}` {cause}"))
            .help("members can be taken out or in, their `status` set and their `contractVersion` raised")
    };
    let mut seen = BTreeSet::new();
    for member in &edited.members {
        if !seen.insert((&member.server, &member.tool)) {
            return Err(refused(&member.tool, "stands in the draft twice".to_owned()));
        }
        let Some(offered) = whole.members.iter().find(|m| m.server == member.server && m.tool == member.tool)
        else {
            return Err(refused(&member.tool, "is not among those that the servers offer".to_owned()));
        };
        if offered.digests != member.digests {
            return Err(refused(
                &member.tool,
                "would get other digests than its server's release has".to_owned(),
            ));
        }
        if offered.compatibility != member.compatibility {
            return Err(refused(
                &member.tool,
                format!("is {}, and that is not a matter of opinion", offered.compatibility.as_str()),
            ));
        }
        if member.contract_version < offered.contract_version || !member.contract_version.leaves_room() {
            let needed = &offered.contract_version;
            return Err(refused(&member.tool, format!("needs contractVersion {needed} or a higher one")));
        }
    }
    Ok(())
}

/// A content with the words that an edit gave to its members.
fn with_words(mut content: Content, edited: &Content) -> Content {
    for member in &mut content.members {
        let said = edited.members.iter().find(|m| m.server == member.server && m.tool == member.tool);
        if let Some(said) = said {
            member.status = said.status;
            member.contract_version = said.contract_version.clone();
        }
    }
    content
}
