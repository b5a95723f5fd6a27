//! Who issues the tokens for a server, found out by asking it: its own metadata (RFC 9728), then that of the authorization
//! server which they name (RFC 8414, OpenID Connect Discovery), in the order of the MCP specification (2025-11-25,
//! basic/authorization).
//!
//! What is read here decides where the client's secret is sent. So every URL has to be https or as near as the server
//! itself, every document has to be about what it was asked about, and nothing is asked that may not be reached.

use reqwest::{Method, Request, Url};
use serde::Deserialize;

use super::{MAX_REDIRECTS, authorize::Issuers, endpoint::is_loopback, refusal::redirect, without_secrets};
use crate::mcp::record::{Try, printable};

/// Who issues tokens, and how it wants to be asked.
pub(super) struct Issuer {
    pub(super) token_url: Url,
    /// It takes the client's secret in the body only.
    pub(super) secret_in_body: bool,
    /// What the server calls itself.
    pub(super) resource: Option<String>,
}

/// What a server says of itself (RFC 9728, 2).
#[derive(Deserialize)]
struct Resource {
    resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
}

/// What an authorization server says of itself (RFC 8414, 2).
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    token_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What to do about a server that does not say it.
const SAY_IT: &str = "say where tokens are issued: `tokenUrl` of its `oauth`, or `--oauth-token-url`";

impl Issuers<'_> {
    /// Who issues tokens for the server, where it answered with this challenge.
    pub(super) async fn discover(&self, challenge: &str) -> Try<Issuer> {
        let named = resource_metadata(challenge);
        let places = match &named {
            Some(url) => vec![self.trusted("its metadata", url)?],
            None => well_known(self.server, "oauth-protected-resource", false),
        };
        let Some((at, resource)) = self.first::<Resource>(places).await? else {
            return Err(self.failure("it does not say who issues tokens for it", SAY_IT));
        };
        if let Some(name) = &resource.resource
            && !is_about(name, self.server)
        {
            let cause = format!("`{}` is about `{}`, not about it", shown(&at), printable(name, 200));
            return Err(self.failure(cause, SAY_IT));
        }
        let Some(issuer) = resource.authorization_servers.first() else {
            return Err(self.failure(format!("`{}` names no authorization server", shown(&at)), SAY_IT));
        };
        let url = self.trusted("its authorization server", issuer)?;
        let mut places = well_known(&url, "oauth-authorization-server", true);
        places.extend(well_known(&url, "openid-configuration", true));
        if url.path() != "/" {
            places.extend(below(&url, "/.well-known/openid-configuration"));
        }
        let Some((at, metadata)) = self.first::<Metadata>(places).await? else {
            let cause = format!("its authorization server `{}` says nothing of itself", shown(&url));
            return Err(self.failure(cause, SAY_IT));
        };
        // Or one server could pass itself off as another (RFC 8414, 3.3).
        if metadata.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            let other = printable(&metadata.issuer, 200);
            let cause = format!("`{}` is about `{other}`, not about `{}`", shown(&at), shown(&url));
            return Err(self.failure(cause, SAY_IT));
        }
        let Some(endpoint) = metadata.token_endpoint else {
            return Err(self.failure(format!("`{}` names no token endpoint", shown(&at)), SAY_IT));
        };
        let token_url = self.trusted("its token endpoint", &endpoint)?;
        // All that was read so far the server may have made up: it would be handed the secret of another's client.
        if !is_of(&token_url, self.server) {
            let shown = shown(&token_url);
            let cause =
                format!("it names `{shown}` as where tokens are issued, which is not on its own host");
            let help = "where the client was registered there, say so: `tokenUrl` of its `oauth`, or `--oauth-token-url`";
            return Err(self.failure(cause, help));
        }
        let methods = metadata.token_endpoint_auth_methods_supported.unwrap_or_default();
        let takes = |method: &str| methods.iter().any(|known| known == method);
        Ok(Issuer {
            token_url,
            secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
            resource: resource.resource,
        })
    }

    /// A URL that a server named, where it may be asked: https, or as near as the server itself.
    fn trusted(&self, what: &str, text: &str) -> Try<Url> {
        let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = url else {
            let cause = format!("{what} is at `{}`, which is no http or https URL", printable(text, 200));
            return Err(self.failure(cause, SAY_IT));
        };
        let near = url.origin() == self.server.origin() || (is_loopback(&url) && is_loopback(self.server));
        if url.scheme() == "https" || near {
            return Ok(url);
        }
        let cause = format!("{what} is at `{}`, which is neither https nor of its own origin", shown(&url));
        Err(self.failure(cause, SAY_IT))
    }

    /// The first of these places where there is a document.
    async fn first<T: for<'de> Deserialize<'de>>(&self, places: Vec<Url>) -> Try<Option<(Url, T)>> {
        for url in places {
            let Some(body) = self.read(url.clone()).await? else { continue };
            return match serde_json::from_slice(&body) {
                Ok(document) => Ok(Some((url, document))),
                Err(_) => Err(self.failure(format!("`{}` is no such metadata", shown(&url)), SAY_IT)),
            };
        }
        Ok(None)
    }

    /// What stands at a URL; nothing where the answer is a refusal.
    async fn read(&self, mut url: Url) -> Try<Option<Vec<u8>>> {
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send(Request::new(Method::GET, url.clone())).await?;
            if answer.status().is_redirection() {
                let name = format!("`{}`", shown(&url));
                url = redirect(&name, &url, &answer).map_err(|f| self.failure(f.message, SAY_IT))?;
                continue;
            }
            return match answer.status().is_success() {
                true => self.body(&url, answer).await.map(Some),
                false => Ok(None),
            };
        }
        Err(self.failure(format!("`{}` redirects more than {MAX_REDIRECTS} times", shown(&url)), SAY_IT))
    }
}

pub(super) fn shown(url: &Url) -> String {
    printable(&without_secrets(url.as_str()), 200)
}

/// The URL that a challenge names (RFC 9728, 5.1).
fn resource_metadata(challenge: &str) -> Option<String> {
    let challenges = http_auth::parse_challenges(challenge).ok()?;
    let bearer = challenges.iter().filter(|c| c.scheme.eq_ignore_ascii_case("bearer"));
    let mut params = bearer.flat_map(|c| &c.params);
    params.find(|(name, _)| name.eq_ignore_ascii_case("resource_metadata")).map(|(_, v)| v.to_unescaped())
}

/// Where metadata of this kind stands: with the URL's path behind it; and, unless that would be about somebody else, without.
fn well_known(url: &Url, kind: &str, exact: bool) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut paths = vec![format!("/.well-known/{kind}{path}")];
    if !path.is_empty() && !exact {
        paths.push(format!("/.well-known/{kind}"));
    }
    paths.iter().map(|path| at(url, path)).collect()
}

/// The same with the path before it, as OpenID Connect Discovery has it.
fn below(url: &Url, kind: &str) -> Option<Url> {
    Some(at(url, &format!("{}{kind}", url.path().trim_end_matches('/'))))
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Whether a URL is on the server's own host, or on one below it.
fn is_of(url: &Url, server: &Url) -> bool {
    let (Some(host), Some(own)) = (url.host_str(), server.host_str()) else { return false };
    // No host ends with an address but the address itself.
    let below = || host.strip_suffix(own).is_some_and(|rest| rest.ends_with('.'));
    host == own || below() || is_loopback(url) && is_loopback(server)
}

/// Whether metadata under this name is about the server: its URL, or one above it.
fn is_about(name: &str, server: &Url) -> bool {
    let Ok(url) = Url::parse(name) else { return false };
    let (above, path) = (url.path().trim_end_matches('/'), server.path());
    url.origin() == server.origin()
        && path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_to_the_server_s_own_host_and_below() {
        for (server, token_url, is) in [
            ("https://mcp.example.com/mcp", "https://mcp.example.com/token", true),
            ("https://mcp.example.com/mcp", "https://mcp.example.com:8443/token", true),
            ("https://mcp.example.com/mcp", "https://login.mcp.example.com/token", true),
            ("https://mcp.example.com/mcp", "https://login.example.com/token", false),
            ("https://mcp.example.com/mcp", "https://example.com/token", false),
            ("https://mcp.example.com/mcp", "https://evilmcp.example.com/token", false),
            ("https://mcp.example.com/mcp", "https://evil.example/token", false),
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token", true),
            ("http://127.0.0.1:1/mcp", "http://localhost:2/token", true),
            ("https://203.0.113.1/mcp", "https://203.0.113.2/token", false),
        ] {
            let parsed = |text| Url::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(is_of(&parsed(token_url), &parsed(server)), is, "{server} {token_url}");
        }
    }
}
