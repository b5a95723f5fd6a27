//! Who calls over HTTP, and whether they may.
//!
//! Stands between the use cases and the two faces, which share it without knowing each other. [`identify`] finds out who calls,
//! once per request and outside of all routes; [`needs`] is what each route has around it, and refuses whoever lacks what the
//! route's row says. A face puts a route into its table only together with a [`Need`], so none is open by oversight.

mod address;
pub mod cookie;
mod limits;
pub mod request_id;

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::{FromRequestParts, RawPathParams, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, header, request::Parts},
    middleware::Next,
    response::Response,
};

pub use limits::{Limits, Rates};

use crate::{
    access::{Caller, Object, Refusal, Right},
    app::{App, AppError, access::By},
};

/// What a route needs of whoever calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: it tells nobody's business.
    Nobody,
    /// To be known.
    Anybody,
    /// A right, within reach of the route.
    Right(Right, Reach),
}

/// What a route is about, as far as scopes tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// No catalog and no environment.
    Nothing,
    /// The `{catalog}` of its path.
    Catalog,
    /// The `{environment}` of its path; of which catalog, the use case knows and asks.
    Environment,
    /// All catalogs of the `{environment}` of its path.
    WholeEnvironment,
    /// All of them.
    Everything,
}

/// A route with what it needs: the table of permissions, as it is enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The method.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: String,
    /// What it needs.
    pub need: Need,
}

/// Why a request is not let through.
#[derive(Debug, Clone)]
pub enum Denied {
    /// Nobody said who they are.
    Unknown,
    /// What was shown is no credential, or none any more.
    Invalid(&'static str),
    /// They may not.
    Refused(Refusal),
    /// Too often; after so many seconds again.
    TooOften(u64),
    /// Who they are could not be looked up.
    Unavailable(Arc<AppError>),
}

/// What is known of the caller of a request. [`identify`] adds it; a request that has it before comes from this process itself.
#[derive(Debug, Clone)]
pub struct Known(pub Result<Arc<Caller>, Denied>);

/// The header in which a caller says for whom it acts.
pub const ON_BEHALF_OF: HeaderName = HeaderName::from_static("toolpact-on-behalf-of");

/// The longest name of whom a caller acts for, in bytes.
pub const LONGEST_NAME: usize = 64;

/// Finds out who calls. Refuses nobody: that is the routes' business, and some are for everybody.
pub async fn identify(
    State((app, limits)): State<(App, Arc<Limits>)>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    if parts.extensions.get::<Known>().is_none() {
        let known = Known(known(&app, &limits, &parts).await);
        parts.extensions.insert(known);
    }
    let room = match parts.extensions.get::<Known>() {
        Some(Known(Ok(caller))) if is_long(&parts.headers) => limits.room(caller).await,
        Some(_) | None => None,
    };
    parts.extensions.insert(limits);
    let answer = next.run(Request::from_parts(parts, body)).await;
    drop(room);
    answer
}

/// Whether a body may be long: it says so, or says nothing.
fn is_long(headers: &HeaderMap) -> bool {
    const SHORT: u64 = 256 << 10;
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    said.map_or(headers.contains_key(header::TRANSFER_ENCODING), |bytes| bytes > SHORT)
}

/// Who calls, where that needs no look into the store; the call is not counted yet. Who is not known at once may be known to
/// [`identify`].
pub fn known_at_once(app: &App, request: &Request) -> Option<Arc<Caller>> {
    match request.extensions().get::<Known>() {
        Some(Known(known)) => known.clone().ok(),
        None => app.remembered(bearer(request.headers()).ok()??),
    }
}

async fn known(app: &App, limits: &Limits, parts: &Parts) -> Result<Arc<Caller>, Denied> {
    let headers = &parts.headers;
    let bearer = bearer(headers)?;
    let session = cookie::session(headers);
    if bearer.is_none() && session.is_none() {
        return Err(Denied::Unknown);
    }
    let found = match (bearer, session) {
        (Some(token), _) => app.authenticate(token).await,
        (None, Some(session)) => app.session(session).await,
        (None, None) => Ok(None),
    };
    let Some(caller) = found.map_err(|e| Denied::Unavailable(Arc::new(e)))? else {
        // A browser shows a session that has ended with every picture it asks for, and means no harm.
        if bearer.is_none() {
            return Err(Denied::Invalid("the session has ended"));
        }
        limits.failed(limits.address(parts)).map_err(Denied::TooOften)?;
        return Err(Denied::Invalid("the token is none, has ended or was taken back"));
    };
    limits.may_call(&caller).map_err(Denied::TooOften)?;
    Ok(caller)
}

/// The token that a request shows. Two are as good as none: who is meant would be anybody's guess.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Denied> {
    let mut said = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (said.next(), said.next());
    let Some(value) = first else { return Ok(None) };
    if second.is_some() {
        return Err(Denied::Invalid("there are two `Authorization` headers"));
    }
    let text = value.to_str().map_err(|_| Denied::Invalid("the `Authorization` header is no text"))?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(Denied::Invalid("the `Authorization` header does not say `Bearer TOKEN`")),
    }
}

/// Lets through whoever has what the route needs.
///
/// # Errors
/// Why they have not.
fn check(need: Need, known: Option<&Known>, path: Option<&RawPathParams>) -> Result<(), Denied> {
    if need == Need::Nobody {
        return Ok(());
    }
    let caller = match known {
        Some(Known(Ok(caller))) => caller,
        Some(Known(Err(denied))) => return Err(denied.clone()),
        None => return Err(Denied::Unknown),
    };
    let Need::Right(right, reach) = need else { return Ok(()) };
    caller.has(right).map_err(Denied::Refused)?;
    // What cannot be a name is in nobody's scope; the route itself says what is wrong with it.
    let part = |name: &str| {
        path.into_iter().flat_map(RawPathParams::iter).find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let catalog = part("catalog").and_then(|name| name.parse().ok());
    let environment = part("environment").and_then(|name| name.parse().ok());
    let object = Object { catalog: catalog.as_ref(), environment: environment.as_ref() };
    caller.may(right, object).map_err(Denied::Refused)?;
    let within = match reach {
        Reach::Nothing => true,
        Reach::Catalog => catalog.is_some() || caller.scope.catalogs.is_none(),
        Reach::Environment => environment.is_some() || caller.scope.environments.is_none(),
        Reach::WholeEnvironment => {
            (environment.is_some() || caller.scope.environments.is_none()) && caller.scope.catalogs.is_none()
        }
        Reach::Everything => caller.scope.is_everything(),
    };
    if within { Ok(()) } else { Err(Denied::Refused(caller.beyond_scope(right))) }
}

/// What each route has around it: `denied` says no in the words of its face.
pub async fn needs(
    need: Need,
    request: Request,
    next: Next,
    denied: impl FnOnce(Denied, &Request) -> Response,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = RawPathParams::from_request_parts(&mut parts, &()).await.ok();
    let request = Request::from_parts(parts, body);
    match check(need, request.extensions().get::<Known>(), path.as_ref()) {
        Ok(()) => next.run(request).await,
        Err(no) => denied(no, &request),
    }
}

/// The use cases as whoever calls, and their name as the history shows it.
#[derive(Clone)]
pub struct Acting {
    /// The use cases.
    pub app: App,
    /// The name.
    pub actor: String,
}

impl FromRequestParts<App> for Acting {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let Some(Known(Ok(caller))) = parts.extensions.get::<Known>() else {
            // Routes that nobody has to be known for do not act; one that did would act as a caller that may nothing.
            let caller = Arc::new(Caller { roles: [].into(), ..Caller::local("nobody") });
            let actor = caller.name.clone();
            return Ok(Self { app: app.acting(By { caller, request: None, idempotency_key: None }), actor });
        };
        let caller = match on_behalf_of(&parts.headers) {
            Some(name) => Arc::new(Caller { on_behalf_of: Some(name.to_owned()), ..Caller::clone(caller) }),
            None => Arc::clone(caller),
        };
        let actor = caller.name.clone();
        let key = parts.headers.get("idempotency-key").filter(|key| (1..=128).contains(&key.len()));
        let key = key.and_then(|key| key.to_str().ok()).map(ToOwned::to_owned);
        let by = By { caller, request: request_id::current(), idempotency_key: key };
        Ok(Self { app: app.acting(by), actor })
    }
}

/// For whom a request says that it acts, where that is a name.
fn on_behalf_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(ON_BEHALF_OF).filter(|value| is_name(value)).and_then(|value| value.to_str().ok())
}

/// Whether a header says a name: 1 to [`LONGEST_NAME`] visible ASCII characters.
#[must_use]
pub fn is_name(value: &HeaderValue) -> bool {
    (1..=LONGEST_NAME).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic)
}
