//! What is decided and said of single changes of a draft: the forms of its page.

use axum::response::Response;
use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;

use super::{
    drafts::{DraftQuery, Typed, shown},
    error::Error,
    page::{DraftId, Form, Path, Query, see},
    review::{Address, Queue, Show},
};
use crate::{
    app::{
        App, AppError, Kind,
        review::{Changes, DecideRequest},
    },
    catalog::review::Ruling,
    guard::Acting,
    json::Digest,
    name::{CatalogName, InvalidName},
};

/// A decision on one change, or on all that its rule found.
#[derive(Default, Deserialize)]
pub(super) struct Decide {
    /// `accept`, `waive`, `reject` or `withdraw`.
    #[serde(default)]
    pub(super) ruling: String,
    #[serde(default)]
    pub(super) reason: String,
    /// The last day of a waiver.
    #[serde(default)]
    pub(super) until: String,
    /// Who answers for it.
    #[serde(default)]
    pub(super) owner: String,
    /// The only environment that it counts for; everywhere where empty.
    #[serde(default)]
    pub(super) environment: String,
    /// Whether all changes of the same rule are meant.
    pub(super) all: Option<String>,
    /// The change.
    change: Option<Digest>,
    /// What the page showed the draft to hold.
    digest: Option<Digest>,
}

/// Decides, then shows the next change that stands in the way, or the way to approve the draft where none is left. What counts
/// for one environment alone is shown at its change: the draft is not judged on it.
pub(super) async fn decide_change(
    Acting { app, actor }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Query(query): Query<DraftQuery>,
    Form(form): Form<Decide>,
) -> Result<Response, Error> {
    match decided(&app, &catalog, draft, &form, actor).await {
        Ok(change) => {
            let page = app.review(&catalog, draft.0).await?;
            let address = Address {
                path: format!("/catalogs/{catalog}/drafts/{}", draft.0),
                assume: query.assume.filter(|a| *a != page.draft.report.assumption),
                show: Show::Plain,
            };
            if !form.environment.is_empty() {
                return Ok(see(&format!("{}#decide", address.of(&change))));
            }
            Ok(see(&match Queue::new(&page, None).next_open(&change) {
                Some(next) => format!("{}#change", address.of(&next.fingerprint)),
                None => format!("{}#decision", address.of(&change)),
            }))
        }
        Err(e) => {
            let typed = Typed { decide: form, ..Typed::default() };
            shown(&app, &catalog, draft, query, Some(e), typed).await
        }
    }
}

/// Decides as the form says; the change that it was sent from.
async fn decided(
    app: &App,
    catalog: &CatalogName,
    draft: DraftId,
    form: &Decide,
    actor: String,
) -> Result<Digest, AppError> {
    let invalid = |message: &str| AppError::new(Kind::Invalid, "invalid-request", message);
    let change = form.change.clone().ok_or_else(|| invalid("the form names no change"))?;
    let (ruling, expires) = ruled(&form.ruling, &form.until)?;
    let changes = if form.all.is_some() {
        let page = app.review(catalog, draft.0).await?;
        // Of one change its fingerprint says what was seen; of all of a rule, what the draft held.
        if let Some(seen) = form.digest.as_ref().filter(|seen| **seen != page.draft.digest) {
            let (now, seen) = (page.draft.digest.short(), seen.short());
            let message = format!("draft `d-{}` holds {now} by now, not {seen}", draft.0);
            return Err(AppError::new(Kind::Stale, "draft-edited", message)
                .help("look at what it holds now, then decide on that"));
        }
        let queue = Queue::new(&page, None);
        let rule = queue.find(change.hex()).map(|f| f.rule.as_str()).unwrap_or_default();
        queue.of_rule(rule).iter().map(|f| f.fingerprint.hex().to_owned()).collect()
    } else {
        vec![change.hex().to_owned()]
    };
    let owner = form.owner.trim();
    let environment = match form.environment.trim() {
        "" => None,
        name => Some(name.parse().map_err(|e: InvalidName| invalid(&e.to_string()))?),
    };
    let request = DecideRequest {
        catalog: catalog.clone(),
        changes: Changes::Fingerprints(changes),
        ruling,
        environment,
        reason: form.reason.clone(),
        // The field stands empty, or hidden, where nothing is waived.
        owner: (expires.is_some() && !owner.is_empty()).then(|| owner.to_owned()),
        expires,
        actor,
    };
    app.decide(&request).await?;
    Ok(change)
}

/// What a form says is decided, and until when.
pub(super) fn ruled(ruling: &str, until: &str) -> Result<(Ruling, Option<DateTime<Utc>>), AppError> {
    Ok(match ruling {
        "accept" => (Ruling::Accept, None),
        "waive" => (Ruling::Accept, Some(end_of(until)?)),
        "reject" => (Ruling::Reject, None),
        "withdraw" => (Ruling::Withdraw, None),
        _ => {
            let message = "say what is decided: accept, waive, or reject";
            return Err(AppError::new(Kind::Invalid, "invalid-request", message));
        }
    })
}

/// The end of a day, as a date field sends it.
fn end_of(day: &str) -> Result<DateTime<Utc>, AppError> {
    let date = day.trim().parse::<NaiveDate>().ok();
    let next = date.and_then(|d| d.succ_opt()).and_then(|d| d.and_hms_opt(0, 0, 0));
    next.map(|end| end.and_utc()).ok_or_else(|| {
        let message = if day.trim().is_empty() {
            "a waiver needs its last day".to_owned()
        } else {
            format!("`{day}` is no day")
        };
        AppError::new(Kind::Invalid, "bad-expiry", message).help("write a day such as 2027-01-31")
    })
}

/// A remark on a change, or on the draft.
#[derive(Deserialize)]
pub(super) struct Remark {
    #[serde(default)]
    text: String,
    /// The change; the draft as a whole where none is named.
    change: Option<Digest>,
}

/// Keeps a remark, then shows it.
pub(super) async fn comment_draft(
    Acting { app, actor }: Acting,
    Path((catalog, draft)): Path<(CatalogName, DraftId)>,
    Query(query): Query<DraftQuery>,
    Form(form): Form<Remark>,
) -> Result<Response, Error> {
    match app.comment(&catalog, draft.0, form.change.as_ref(), &form.text, &actor).await {
        Ok(comment) => {
            let path = format!("/catalogs/{catalog}/drafts/{}", draft.0);
            // Only digits of a fingerprint come back as part of an address.
            let change = query.change.filter(|c| !c.is_empty() && c.bytes().all(|b| b.is_ascii_hexdigit()));
            let query = change.map(|change| format!("?change={change}")).unwrap_or_default();
            Ok(see(&format!("{path}{query}#said-{}", comment.id)))
        }
        Err(e) => {
            let typed = match form.change {
                Some(_) => Typed { comment: form.text, ..Typed::default() },
                None => Typed { remark: form.text, ..Typed::default() },
            };
            shown(&app, &catalog, draft, query, Some(e), typed).await
        }
    }
}
