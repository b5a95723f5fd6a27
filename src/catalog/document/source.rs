//! Where a document says that a server is found.

use std::collections::BTreeMap;

use super::node::{At, Fault, Fields, Node};
use crate::catalog::server::{HttpTransport, OAuth, ServerSource, Symbolic};

/// The keys that say it.
pub(crate) const KEYS: [&str; 7] = ["command", "env", "cwd", "url", "headers", "transport", "oauth"];

/// The source that a server's entry names, if it names one.
pub(crate) fn read(fields: &Fields<'_>) -> Result<Option<ServerSource>, Fault> {
    match (fields.get("command"), fields.get("url")) {
        (Some(_), Some(_)) => Err(fields.key_fault("url", "a server has either a `command` or a `url`")),
        (Some(command), None) => {
            beside(fields, "url", &["headers", "transport", "oauth"])?;
            let words = command.list("a program and its arguments")?;
            let mut words = words.iter().map(|w| w.text("a text").map(Symbolic::from));
            let Some(program) = words.next() else {
                return Err(command.fault("`command` is empty; expected a program and its arguments"));
            };
            Ok(Some(ServerSource::Stdio {
                program: program?,
                args: words.collect::<Result<_, _>>()?,
                env: named(fields, "env")?,
                cwd: fields.get("cwd").map(|at| at.text("a folder").map(Symbolic::from)).transpose()?,
            }))
        }
        (None, Some(url)) => {
            beside(fields, "command", &["env", "cwd"])?;
            let words = [HttpTransport::Auto, HttpTransport::StreamableHttp, HttpTransport::Sse];
            let transport = fields.get("transport").map(|at| at.word(&words, HttpTransport::as_str));
            Ok(Some(ServerSource::Http {
                url: url.text("a URL")?.into(),
                headers: named(fields, "headers")?,
                transport: transport.transpose()?.unwrap_or_default(),
                oauth: fields.get("oauth").map(|at| oauth(&at)).transpose()?,
            }))
        }
        (None, None) => {
            beside(fields, "command", &["env", "cwd"])?;
            beside(fields, "url", &["headers", "transport", "oauth"])?;
            Ok(None)
        }
    }
}

const OAUTH: [&str; 5] = ["tokenUrl", "clientId", "clientSecret", "scope", "resource"];

/// A client. Its secret is a reference.
fn oauth(at: &At<'_>) -> Result<OAuth, Fault> {
    let fields = at.fields("a client of OAuth", &OAUTH)?;
    let text = |key| fields.get(key).map(|at| at.text("a text").map(Symbolic::from)).transpose();
    let secret = fields.need("clientSecret")?;
    let client_secret = Symbolic::from(secret.text("a reference such as ${VAR}")?);
    if client_secret.is_literal() {
        return Err(secret.fault(
            "`clientSecret` holds a secret in clear; write a reference such as `${VAR}` and set that variable",
        ));
    }
    Ok(OAuth {
        token_url: text("tokenUrl")?,
        client_id: fields.need("clientId")?.text("a text")?.into(),
        client_secret,
        scope: text("scope")?,
        resource: text("resource")?,
    })
}

/// Refuses keys that mean nothing without another one.
fn beside(fields: &Fields<'_>, needed: &str, keys: &[&'static str]) -> Result<(), Fault> {
    match keys.iter().find(|key| fields.get(key).is_some()) {
        Some(key) => Err(fields.key_fault(key, &format!("`{key}` belongs to a `{needed}`"))),
        None => Ok(()),
    }
}

/// Texts by name. A document is committed and shown, so it holds references to secrets and never a secret.
fn named(fields: &Fields<'_>, key: &'static str) -> Result<BTreeMap<String, Symbolic>, Fault> {
    let Some(at) = fields.get(key) else { return Ok(BTreeMap::new()) };
    let entries = at.entries("names with a text each")?.into_iter().map(|(name, at)| {
        let text = match at.node {
            Node::Integer(n) => n.to_string(),
            Node::Bool(b) => b.to_string(),
            Node::Null | Node::Number(_) | Node::Text(_) | Node::List(_) | Node::Map(_) => {
                at.text("a text")?.to_owned()
            }
        };
        let text = Symbolic::from(text);
        if text.is_in_clear(name) {
            return Err(at.fault(format!(
                "`{name}` holds a secret in clear; write a reference such as `${{VAR}}` and set that variable"
            )));
        }
        Ok((name.to_owned(), text))
    });
    entries.collect()
}
