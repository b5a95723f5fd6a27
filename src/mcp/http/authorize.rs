//! Access by OAuth 2.1 client credentials (RFC 6749, 4.4; RFC 8707): a token is fetched before the first request where it
//! is known who issues it, and after a refusal otherwise; and once more where one that was kept is refused.
//!
//! The client's secret goes to the token endpoint and nowhere else: no redirect is followed. Bodies are bounded, every
//! request has a deadline, and every host has to be one that may be reached.

use std::{
    pin::Pin,
    sync::atomic::{AtomicU16, Ordering},
};

use oauth2::{
    AsyncHttpClient, AuthType, ClientId, ClientSecret, HttpRequest, HttpResponse, RequestTokenError, Scope,
    TokenResponse, TokenUrl,
    basic::{BasicClient, BasicTokenType},
    http,
};
use reqwest::{
    Request, Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use tokio::time::{Instant, timeout_at};

use super::{
    Connection, REACH,
    discovery::{Issuer, shown},
    endpoint::client,
    refusal::cause,
    without_secrets,
};
use crate::{
    mcp::{
        Limits,
        oauth::{Key, OAuth},
        record::{Failure, Sent, Try, printable},
    },
    snapshot::Outcome,
};

/// Read of metadata and of a token's answer: many times what either has.
const BYTES: usize = 64 << 10;

/// How far access is.
pub(super) struct Access {
    oauth: OAuth,
    /// What the server is called to authorization servers: its URL without what may be secret.
    server: String,
    key: Key,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    /// No token yet.
    None,
    /// One that was issued for this connection and that the server has not seen accepted.
    Fresh,
    /// One that was kept, or was accepted.
    Proved,
}

impl Access {
    pub(super) fn new(oauth: &OAuth, url: &Url) -> Self {
        let server = without_secrets(url.as_str());
        Self { key: oauth.key(&server), server, oauth: oauth.clone(), state: State::None }
    }
}

impl Connection<'_> {
    /// Before the first request: with what is kept, or what can be had without asking the server.
    pub(super) async fn authorize_ahead(&mut self) -> Try<()> {
        let Some(access) = &mut self.access else { return Ok(()) };
        if let Some(token) = access.oauth.tokens.get(&access.key) {
            access.state = State::Proved;
            self.carry(token);
            return Ok(());
        }
        if access.oauth.token_url.is_some() {
            return self.fetch_token("").await;
        }
        Ok(())
    }

    /// Whether a refusal is one that a token may help against.
    pub(super) fn may_authorize(&self, failure: &Failure) -> bool {
        failure.http_status == Some(401) && self.access.is_some()
    }

    /// After such a refusal.
    pub(super) async fn authorize(&mut self, mut refusal: Box<Failure>) -> Try<()> {
        if self.access.as_ref().is_some_and(|access| access.state == State::Fresh) {
            refusal.message.push_str(", though it was given a token that had just been issued");
            return Err(refusal.help("see which `scope` and `resource` the server wants, and say them"));
        }
        self.fetch_token(&refusal.challenge).await
    }

    /// The token that was sent is good.
    pub(super) fn accepted(&mut self) {
        if let Some(access) = &mut self.access
            && access.state == State::Fresh
        {
            access.state = State::Proved;
        }
    }

    async fn fetch_token(&mut self, challenge: &str) -> Try<()> {
        let deadline = self.clock(self.deadline);
        let Some(access) = &mut self.access else { return Ok(()) };
        let issuers = Issuers {
            name: self.record.name(),
            server: &self.endpoint.url,
            limits: self.limits,
            deadline,
            status: AtomicU16::new(0),
        };
        let issuer = match access.oauth.token_url.as_deref().map(Url::parse) {
            Some(Ok(token_url)) => Issuer { token_url, secret_in_body: false, resource: None },
            Some(Err(_)) => return Err(issuers.failure("its token URL is no URL", "correct it")),
            None => issuers.discover(challenge).await?,
        };
        let resource =
            access.oauth.resource.clone().or(issuer.resource.clone()).unwrap_or(access.server.clone());
        let (token, lasts) = issuers.token(&access.oauth, &issuer, resource).await?;
        access.oauth.tokens.put(access.key.clone(), token.clone(), lasts);
        access.state = State::Fresh;
        self.carry(token);
        Ok(())
    }

    /// Sends this token with every request from now on.
    fn carry(&mut self, token: HeaderValue) {
        if let Some(text) = token.to_str().ok().and_then(|text| text.strip_prefix("Bearer ")) {
            self.record.secrets.push(Sent::secret("the token that it was given", text.to_owned()));
        }
        self.endpoint.headers.insert(AUTHORIZATION, token);
    }
}

/// Those who issue tokens for a server, and those who know them.
pub(super) struct Issuers<'a> {
    name: String,
    pub(super) server: &'a Url,
    limits: &'a Limits,
    deadline: Instant,
    /// Of the last answer that was no success.
    status: AtomicU16,
}

impl Issuers<'_> {
    pub(super) fn failure(&self, cause: impl AsRef<str>, help: impl Into<String>) -> Box<Failure> {
        let message = format!("there is no access to {}: {}", self.name, cause.as_ref());
        let mut failure = Failure::new(Outcome::AuthRequired, message).help(help);
        failure.http_status = Some(self.status.load(Ordering::Relaxed)).filter(|status| *status > 0);
        failure
    }

    /// Sends a request, wherever it may go.
    pub(super) async fn send(&self, request: Request) -> Try<Response> {
        let url = request.url().clone();
        if let Some(address) = self.limits.reach.refuses(&url) {
            let cause = format!("`{}` is not called: {address} is no public address", shown(&url));
            return Err(self.failure(cause, REACH));
        }
        let unreachable = |error: reqwest::Error| {
            let cause = format!("`{}` cannot be reached: {}", shown(&url), cause(&error));
            self.failure(cause, "check that the authorization server runs and that its URL is right")
        };
        let client = client(&url, &self.limits.reach).map_err(unreachable)?;
        match timeout_at(self.until(), client.execute(request)).await {
            Err(_) => Err(self.late(&url)),
            Ok(Err(error)) => Err(unreachable(error)),
            Ok(Ok(answer)) => {
                if !answer.status().is_success() {
                    self.status.store(answer.status().as_u16(), Ordering::Relaxed);
                }
                Ok(answer)
            }
        }
    }

    /// A bounded body.
    pub(super) async fn body(&self, url: &Url, mut answer: Response) -> Try<Vec<u8>> {
        let mut body = Vec::new();
        let until = self.until();
        loop {
            match timeout_at(until, answer.chunk()).await {
                Err(_) => return Err(self.late(url)),
                Ok(Err(error)) => {
                    let cause = format!("`{}` broke the connection: {}", shown(url), cause(&error));
                    return Err(self.failure(cause, "try again later"));
                }
                Ok(Ok(None)) => return Ok(body),
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > BYTES => {
                    let cause = format!("`{}` answered with more than {BYTES} bytes", shown(url));
                    return Err(self.failure(cause, "see whether that is the URL that is meant"));
                }
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            }
        }
    }

    fn until(&self) -> Instant {
        (Instant::now() + self.limits.request).min(self.deadline)
    }

    fn late(&self, url: &Url) -> Box<Failure> {
        self.failure(format!("`{}` did not answer in time", shown(url)), "try again later")
    }

    /// A token, as a header, and how long it lasts.
    async fn token(
        &self,
        oauth: &OAuth,
        issuer: &Issuer,
        resource: String,
    ) -> Try<(HeaderValue, Option<std::time::Duration>)> {
        let method = if issuer.secret_in_body { AuthType::RequestBody } else { AuthType::BasicAuth };
        let client = BasicClient::new(ClientId::new(oauth.client_id.clone()))
            .set_client_secret(ClientSecret::new(oauth.client_secret.clone()))
            .set_auth_type(method)
            .set_token_uri(TokenUrl::from_url(issuer.token_url.clone()));
        let mut request = client.exchange_client_credentials().add_extra_param("resource", resource);
        if let Some(scope) = &oauth.scope {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        let at = shown(&issuer.token_url);
        let answer = request.request_async(self).await.map_err(|error| match error {
            RequestTokenError::Request(NoAnswer(failure)) => failure,
            RequestTokenError::ServerResponse(refusal) => {
                self.refused(&at, refusal.error().as_ref(), &oauth.client_secret)
            }
            RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
                let status = self.status.load(Ordering::Relaxed);
                let how =
                    if status > 0 { format!("status {status} and no reason") } else { "no token".to_owned() };
                let cause = format!("`{at}` answered the request for a token with {how}");
                self.failure(cause, "check that this is the authorization server's token endpoint")
            }
        })?;
        let unusable = |what: &str| {
            self.failure(format!("`{at}` gave a token that {what}"), "only bearer tokens are used here")
        };
        if *answer.token_type() != BasicTokenType::Bearer {
            return Err(unusable("is no bearer token"));
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {}", answer.access_token().secret()))
            .map_err(|_| unusable("fits no header"))?;
        header.set_sensitive(true);
        Ok((header, answer.expires_in()))
    }

    /// One exchange with a token endpoint, as the `oauth2` crate wants it.
    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
        let unusable =
            || NoAnswer(self.failure("the request for a token cannot be sent", "check its `oauth`"));
        let request = Request::try_from(request).map_err(|_| unusable())?;
        let url = request.url().clone();
        let answer = self.send(request).await.map_err(NoAnswer)?;
        let status = answer.status();
        if status.is_redirection() {
            let cause = format!(
                "`{}` answered the request for a token with status {} and a redirect, which is not followed: the \
                 client's secret is for nobody else",
                shown(&url),
                status.as_u16()
            );
            return Err(NoAnswer(
                self.failure(cause, "if tokens are issued elsewhere, say so in `tokenUrl`"),
            ));
        }
        let mut response = http::Response::builder().status(status.as_u16());
        if let Some(kind) = answer.headers().get(CONTENT_TYPE) {
            response = response.header(CONTENT_TYPE, kind);
        }
        let body = self.body(&url, answer).await.map_err(NoAnswer)?;
        response.body(body).map_err(|_| unusable())
    }

    /// The authorization server's own reason (RFC 6749, 5.2).
    fn refused(&self, at: &str, code: &str, secret: &str) -> Box<Failure> {
        // Codes are words; anything else is not worth to be kept, and may be the secret itself.
        let is_code = |c: char| c.is_ascii_lowercase() || c == '_';
        let code = match code {
            code if code.len() <= 40 && code.chars().all(is_code) && !code.contains(secret) => code,
            _ => "of its own",
        };
        let help = match code {
            "invalid_client" | "unauthorized_client" => {
                "check the client's id and secret, and that it may use client credentials"
            }
            "invalid_scope" => "ask for another `scope`",
            "invalid_target" => "say which `resource` the token is for, as the authorization server knows it",
            _ => "see the authorization server's own log",
        };
        let status = self.status.load(Ordering::Relaxed);
        let cause = format!(
            "`{at}` answered the request for a token with status {status} and error `{}`",
            printable(code, 40)
        );
        self.failure(cause, help)
    }
}

impl<'c> AsyncHttpClient<'c> for Issuers<'_> {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.exchange(request))
    }
}

/// Why there is no answer of a token endpoint.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.message)]
pub(super) struct NoAnswer(Box<Failure>);
