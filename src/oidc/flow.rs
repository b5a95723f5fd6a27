//! The flow itself. The issuer's metadata and keys are read anew for each login, so that a key that it changed is no failure.

use std::{pin::Pin, time::Duration};

use openidconnect::{
    AccessTokenHash, AdditionalClaims, AsyncHttpClient, AuthorizationCode, ClientId, ClientSecret, CsrfToken,
    EmptyExtraTokenFields, HttpRequest, HttpResponse, IdTokenFields, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope, StandardErrorResponse,
    StandardTokenResponse, TokenResponse as _, UserInfoClaims,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreAuthenticationFlow, CoreErrorResponseType, CoreGenderClaim,
        CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreProviderMetadata,
        CoreRevocableToken, CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
    },
    http,
};
use reqwest::{Client as Http, Request, redirect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Account, Going, OidcError, Settings};
use crate::reach::innermost;

/// An issuer that has not answered after this is asked in vain.
const PATIENCE: Duration = Duration::from_secs(10);

/// Many times what metadata, keys and tokens have.
const BYTES: usize = 1 << 20;

/// The claims that we look at beside the standard ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Claims(Map<String, Value>);

impl AdditionalClaims for Claims {}

type Fields = IdTokenFields<
    Claims,
    EmptyExtraTokenFields,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJwsSigningAlgorithm,
>;

type Client<A, D, I, R, T, U> = openidconnect::Client<
    Claims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    StandardTokenResponse<Fields, CoreTokenType>,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    A,
    D,
    I,
    R,
    T,
    U,
>;

/// An issuer that people sign in through.
pub struct Provider {
    settings: Settings,
    issuer: IssuerUrl,
    redirect: RedirectUrl,
    http: Http,
}

impl Provider {
    /// Nothing is asked yet: an issuer that is down must not keep the service from starting.
    ///
    /// # Errors
    /// Where the issuer or our own address is no URL.
    pub fn new(settings: Settings) -> Result<Self, OidcError> {
        let not = |what: &str, e: &dyn std::fmt::Display| OidcError::Settings(format!("{what}: {e}"));
        let issuer = IssuerUrl::new(settings.issuer.clone()).map_err(|e| not("the issuer", &e))?;
        let here =
            issuer.url().host_str().is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
        if issuer.url().scheme() != "https" && !here {
            let cause = "it is not reached over TLS, so that anybody on the way could vouch for anybody";
            return Err(OidcError::Settings(cause.to_owned()));
        }
        let back = format!("{}/login/oidc/callback", settings.public_url.trim_end_matches('/'));
        let redirect = RedirectUrl::new(back).map_err(|e| not("the public URL", &e))?;
        // Only the first one in a process counts.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Http::builder()
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .build()
            .map_err(|e| not("no HTTP client", &e))?;
        Ok(Self { settings, issuer, redirect, http })
    }

    /// How it was set up.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where a browser goes to sign in; `state` comes back with it.
    ///
    /// # Errors
    /// Where the issuer does not say how it is asked.
    pub async fn begin(&self, state: &str) -> Result<Going, OidcError> {
        let client = client(&self.settings, self.metadata().await?, self.redirect.clone());
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let state = state.to_owned();
        let mut request = client.authorize_url(
            CoreAuthenticationFlow::AuthorizationCode,
            move || CsrfToken::new(state),
            Nonce::new_random,
        );
        for scope in &self.settings.scopes {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        let (url, _, nonce) = request.set_pkce_challenge(challenge).url();
        Ok(Going { url: url.into(), nonce: nonce.secret().clone(), verifier: verifier.secret().clone() })
    }

    /// Who came back with this code.
    ///
    /// # Errors
    /// Where the issuer does not exchange the code, or what it gives is not signed, not for us, too old or not for this login.
    pub async fn finish(&self, code: &str, verifier: &str, nonce: &str) -> Result<Account, OidcError> {
        let client = client(&self.settings, self.metadata().await?, self.redirect.clone());
        let exchange = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|e| self.failed(&format!("has no way to exchange codes: {e}")))?
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.to_owned()));
        let answer = exchange.request_async(&Asking(self.http.clone())).await.map_err(|e| {
            // The answer itself may hold the code or a token.
            let cause = match &e {
                openidconnect::RequestTokenError::ServerResponse(refusal) => format!("{:?}", refusal.error()),
                openidconnect::RequestTokenError::Request(e) => e.to_string(),
                openidconnect::RequestTokenError::Parse(..) => "its answer is no token".to_owned(),
                openidconnect::RequestTokenError::Other(cause) => cause.clone(),
            };
            self.refused(&format!("it did not exchange the code: {cause}"))
        })?;
        let token = answer.id_token().ok_or_else(|| self.refused("it gave no ID token"))?;
        let verify = client.id_token_verifier();
        let claims = token
            .claims(&verify, &Nonce::new(nonce.to_owned()))
            .map_err(|e| self.refused(&format!("its ID token is not good: {e}")))?;
        if let Some(expected) = claims.access_token_hash() {
            let algorithm = token.signing_alg().map_err(|e| self.refused(&e.to_string()))?;
            let key = token.signing_key(&verify).map_err(|e| self.refused(&e.to_string()))?;
            let actual = AccessTokenHash::from_token(answer.access_token(), algorithm, key)
                .map_err(|e| self.refused(&e.to_string()))?;
            if actual != *expected {
                return Err(self.refused("its tokens do not belong together"));
            }
        }
        // Standard claims and all others, by the names that they have on the wire.
        let mut all = serde_json::to_value(claims).unwrap_or_default();
        let wanted = [&self.settings.name_claim, &self.settings.groups_claim];
        if wanted.into_iter().any(|claim| all.get(claim).is_none())
            && let Ok(request) =
                client.user_info(answer.access_token().clone(), Some(claims.subject().clone()))
        {
            // Many issuers say no more than the subject in the token itself.
            let more: UserInfoClaims<Claims, CoreGenderClaim> = request
                .request_async(&Asking(self.http.clone()))
                .await
                .map_err(|e| self.failed(&format!("does not say who the account is: {}", innermost(&e))))?;
            let more = serde_json::to_value(more).unwrap_or_default();
            if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
                for (claim, value) in more {
                    all.entry(claim).or_insert(value);
                }
            }
        }
        self.account(claims.subject().as_str(), &all)
    }

    /// Reads an account from its claims.
    fn account(&self, subject: &str, claims: &Value) -> Result<Account, OidcError> {
        let wanted = self.settings.name_claim.as_str();
        let name = claims.get(wanted).and_then(Value::as_str).unwrap_or_default();
        if wanted == "email" && claims.get("email_verified") != Some(&Value::Bool(true)) {
            return Err(self.refused("the address of the account is not verified"));
        }
        // Other claims hold what the account's owner likes.
        let verified = wanted == "email";
        let plain = (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic() && b != b':');
        if !plain {
            let cause = format!(
                "the claim `{wanted}` is no name of 1 to 64 visible ASCII characters without a colon"
            );
            return Err(self.refused(&cause));
        }
        let groups = match claims.get(&self.settings.groups_claim) {
            Some(Value::Array(groups)) => {
                groups.iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
            }
            Some(Value::String(group)) => vec![group.clone()],
            _ => Vec::new(),
        };
        Ok(Account { subject: subject.to_owned(), name: name.to_owned(), verified, groups })
    }

    async fn metadata(&self) -> Result<CoreProviderMetadata, OidcError> {
        CoreProviderMetadata::discover_async(self.issuer.clone(), &Asking(self.http.clone()))
            .await
            .map_err(|e| self.failed(&format!("cannot be asked how to sign in: {}", innermost(&e))))
    }

    fn failed(&self, cause: &str) -> OidcError {
        OidcError::Issuer { issuer: self.settings.issuer.clone(), cause: cause.to_owned() }
    }

    fn refused(&self, cause: &str) -> OidcError {
        OidcError::Refused { issuer: self.settings.issuer.clone(), cause: cause.to_owned() }
    }
}

/// The client of one login, which knows the issuer's endpoints as it names them now.
fn client(
    settings: &Settings,
    metadata: CoreProviderMetadata,
    redirect: RedirectUrl,
) -> Client<
    openidconnect::EndpointSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointNotSet,
    openidconnect::EndpointMaybeSet,
    openidconnect::EndpointMaybeSet,
> {
    let secret = settings.client_secret.clone().map(ClientSecret::new);
    openidconnect::Client::from_provider_metadata(metadata, ClientId::new(settings.client_id.clone()), secret)
        .set_redirect_uri(redirect)
}

/// Why the issuer was asked in vain.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoAnswer(String);

/// Our HTTP client, as the `openidconnect` crate wants one.
struct Asking(Http);

impl<'c> AsyncHttpClient<'c> for Asking {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(ask(&self.0, request))
    }
}

/// One request, with a bounded answer.
async fn ask(http: &Http, request: HttpRequest) -> Result<HttpResponse, NoAnswer> {
    let request = Request::try_from(request).map_err(|e| NoAnswer(e.to_string()))?;
    let mut answer = http.execute(request).await.map_err(|e| NoAnswer(innermost(&e.without_url())))?;
    let mut response = http::Response::builder().status(answer.status().as_u16());
    if let Some(kind) = answer.headers().get("content-type") {
        response = response.header("content-type", kind);
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(|e| NoAnswer(innermost(&e.without_url())))? {
        if body.len() + part.len() > BYTES {
            return Err(NoAnswer(format!("its answer has more than {BYTES} bytes")));
        }
        body.extend_from_slice(&part);
    }
    response.body(body).map_err(|e| NoAnswer(e.to_string()))
}
