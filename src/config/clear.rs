//! Secrets that stand in clear, replaced by references: a spec is stored, shown and exported, a secret is not.
//!
//! What is taken for one is [`secret`]'s rule. Each is replaced by `${SERVER_NAME}`, and a note says which variable has
//! to be set to what stood there; the value itself goes nowhere.

use super::variables::variable;
use crate::{
    catalog::server::{OAuth, Piece, Reference, ServerSource, ServerSpec, Symbolic},
    secret,
};

/// Replaces the secrets of a spec; says what has to be set instead.
#[must_use]
pub fn clear(spec: &mut ServerSpec) -> Vec<String> {
    let mut taken = Taken { server: spec.name.as_str().to_owned(), values: Vec::new(), notes: Vec::new() };
    match &mut spec.source {
        ServerSource::Stdio { args, env, .. } => {
            words(args, &mut taken);
            for (name, text) in env {
                named("env", name, text, &mut taken);
            }
        }
        ServerSource::Http { url, headers, oauth, .. } => {
            if let Some(cleared) = cleared_url(url.as_str(), &mut taken) {
                *url = cleared.into();
            }
            if url.is_in_clear("") {
                *url = taken.reference("its URL", "url", url.as_str()).into();
            }
            for (name, text) in headers {
                named("headers", name, text, &mut taken);
            }
            oauth.iter_mut().for_each(|client| client_of("oauth", client, &mut taken));
        }
    }
    for context in &mut spec.contexts {
        for (name, text) in &mut context.headers {
            named(&format!("headers under {}", context.name), name, text, &mut taken);
        }
        for (name, text) in &mut context.env {
            named(&format!("env under {}", context.name), name, text, &mut taken);
        }
        let oauth = format!("oauth under {}", context.name);
        context.oauth.iter_mut().for_each(|client| client_of(&oauth, client, &mut taken));
    }
    taken.notes
}

/// The variables that stand for what was taken out.
struct Taken {
    server: String,
    values: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Taken {
    /// The reference that stands for a value from now on.
    fn reference(&mut self, place: &str, name: &str, value: &str) -> String {
        let base = variable(&format!("{}_{}", self.server, variable(name)));
        let mut name = base.clone();
        let mut number = 2;
        while self.values.iter().any(|(known, other)| *known == name && other != value) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.notes
            .push(format!("{place} holds a secret, which is not stored; set the variable `{name}` to it"));
        self.values.push((name.clone(), value.to_owned()));
        format!("${{{name}}}")
    }
}

/// A client: its secret is one whatever it looks like, and the token URL may hold one.
fn client_of(what: &str, client: &mut OAuth, taken: &mut Taken) {
    named(what, "clientSecret", &mut client.client_secret, taken);
    if client.client_secret.is_literal() {
        let place = format!("`clientSecret` of its `{what}`");
        let reference = taken.reference(&place, "clientSecret", client.client_secret.as_str());
        client.client_secret = reference.into();
    }
    if let Some(cleared) = client.token_url.as_ref().and_then(|url| cleared_url(url.as_str(), taken)) {
        client.token_url = Some(cleared.into());
    }
}

/// A variable or header.
fn named(what: &str, name: &str, text: &mut Symbolic, taken: &mut Taken) {
    let place = format!("`{name}` of its `{what}`");
    if text.is_in_clear(name) {
        *text = taken.reference(&place, name, text.as_str()).into();
    } else if secret::is_named(name)
        && let Some(bare) = without_defaults(text)
    {
        // A reference; what it falls back to would be stored with it.
        taken.notes.push(format!("{place} had a default, which is not stored: set the variable itself"));
        *text = bare.into();
    }
}

/// The text without the defaults of its references, where it has any that say something.
fn without_defaults(text: &Symbolic) -> Option<String> {
    let mut found = false;
    let parts: String = text
        .pieces()
        .map(|piece| match piece {
            Piece::Literal(text) => Symbolic::literal(text).as_str().to_owned(),
            Piece::Variable { name, default: Some("") } => format!("${{{name}:-}}"),
            Piece::Variable { name, default } => {
                found |= default.is_some();
                format!("${{{name}}}")
            }
            Piece::File(path) => Reference::File(path).to_string(),
            Piece::Command(line) => Reference::Command(line).to_string(),
            Piece::Unknown(inside) => format!("${{{inside}}}"),
        })
        .collect();
    found.then_some(parts)
}

/// A command's words: the value of an option whose name says it, `NAME=VALUE`, a URL, a credential that stands alone.
fn words(args: &mut [Symbolic], taken: &mut Taken) {
    let mut option: Option<String> = None;
    for arg in args {
        let before = option.take();
        let text = arg.as_str();
        if let Some(name) = before.filter(|name| !text.starts_with("--") && arg.is_in_clear(name)) {
            *arg = taken.reference(&format!("its argument after `{name}`"), &name, text).into();
            continue;
        }
        if text.starts_with('-') && !text.contains(['=', ':']) && secret::is_named(text) {
            option = Some(text.to_owned());
            continue;
        }
        let known = (taken.values.len(), taken.notes.len());
        let cleared = cleared_word(arg, taken);
        // Where more stands in it than its name or its URL say, it goes as a whole.
        if cleared.as_deref().map_or(arg.is_in_clear(""), |text| Symbolic::from(text).is_in_clear("")) {
            taken.values.truncate(known.0);
            taken.notes.truncate(known.1);
            *arg = whole(text, taken).into();
        } else if let Some(cleared) = cleared {
            *arg = cleared.into();
        }
    }
}

/// A word that is a reference from now on, behind its name if it has one.
fn whole(text: &str, taken: &mut Taken) -> String {
    match text.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, value)) => {
            format!("{name}={}", taken.reference(&format!("its argument `{name}`"), name, value))
        }
        None => taken.reference("one of its arguments", "argument", text),
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn cleared_word(arg: &Symbolic, taken: &mut Taken) -> Option<String> {
    let text = arg.as_str();
    let url = text.find("://");
    match text.find(['=', ':']).filter(|at| url.is_none_or(|url| *at < url)) {
        Some(at) => {
            let (name, value) = text.split_at(at + 1);
            let value = value.trim_start();
            let name_alone = &name[..at];
            // A script that says `=` somewhere is no name with a value.
            if value.is_empty() || !is_name(name_alone) || !Symbolic::from(value).is_literal() {
                None
            } else if secret::is_one(name_alone, value) {
                let space = if text[at + 1..].starts_with(' ') { " " } else { "" };
                let place = format!("its argument `{name_alone}`");
                Some(format!("{name}{space}{}", taken.reference(&place, name_alone, value)))
            } else {
                url.and_then(|_| cleared_url(value, taken)).map(|url| format!("{name}{url}"))
            }
        }
        None if url.is_some() => cleared_url(text, taken),
        None if arg.is_literal() && secret::is_issued(text) => {
            Some(taken.reference("one of its arguments", "token", text))
        }
        None => None,
    }
}

/// A URL without the password of its user info and the secrets of its query.
fn cleared_url(url: &str, taken: &mut Taken) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let mut changed = false;
    let authority = match authority.rsplit_once('@').map(|(info, host)| (info.split_once(':'), host)) {
        Some((Some((user, password)), host)) if Symbolic::from(password).is_literal() => {
            changed = true;
            let reference = taken.reference("the user info of its URL", "password", password);
            format!("{user}:{reference}@{host}")
        }
        Some((None, host)) if secret::is_issued(&authority[..authority.len() - host.len() - 1]) => {
            changed = true;
            let user = &authority[..authority.len() - host.len() - 1];
            format!("{}@{host}", taken.reference("the user info of its URL", "token", user))
        }
        Some(_) | None => authority.to_owned(),
    };
    let (path, fragment) = path.split_once('#').map_or((path, None), |(path, rest)| (path, Some(rest)));
    let mut out = format!("{scheme}://{authority}");
    match path.split_once('?') {
        None => out.push_str(path),
        Some((path, query)) => {
            out.push_str(path);
            for (number, part) in query.split('&').enumerate() {
                out.push(if number == 0 { '?' } else { '&' });
                match part.split_once('=') {
                    Some((name, value))
                        if Symbolic::from(value).is_literal() && secret::is_one(name, value) =>
                    {
                        changed = true;
                        let place = format!("`{name}` of its URL's query");
                        out.push_str(&format!("{name}={}", taken.reference(&place, name, value)));
                    }
                    Some(_) | None => out.push_str(part),
                }
            }
        }
    }
    if let Some(fragment) = fragment {
        out.push('#');
        out.push_str(fragment);
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::catalog::server::HttpTransport;

    const SECRET: &str = "s3cr3t-value";

    #[test]
    fn no_secret_of_a_command_stays() {
        for (args, expected) in [
            ("-y|@scope/server|/data", "-y|@scope/server|/data"),
            ("--api-key|s3cr3t-value|--verbose", "--api-key|${MY_SERVER_API_KEY}|--verbose"),
            ("--api-key|${KEY}", "--api-key|${KEY}"),
            ("--auth|--verbose", "--auth|--verbose"),
            ("--token=s3cr3t-value|--port=1", "--token=${MY_SERVER_TOKEN}|--port=1"),
            ("-e|GITHUB_TOKEN=s3cr3t-value", "-e|GITHUB_TOKEN=${MY_SERVER_GITHUB_TOKEN}"),
            ("-e|GITHUB_TOKEN", "-e|GITHUB_TOKEN"),
            (
                "--header|Authorization: Bearer s3cr3t-value",
                "--header|Authorization: ${MY_SERVER_AUTHORIZATION}",
            ),
            ("postgres://ann:s3cr3t-value@host/db", "postgres://ann:${MY_SERVER_PASSWORD}@host/db"),
            ("--db=postgres://ann:s3cr3t-value@host/db", "--db=postgres://ann:${MY_SERVER_PASSWORD}@host/db"),
            ("https://host/mcp?key=s3cr3t-value&x=1#f", "https://host/mcp?key=${MY_SERVER_KEY}&x=1#f"),
            ("ghp_0123456789abcdefghij", "${MY_SERVER_TOKEN}"),
            ("--token=s3cr3t-value|--token=other", "--token=${MY_SERVER_TOKEN}|--token=${MY_SERVER_TOKEN_2}"),
            ("C:\\tools\\server.js", "C:\\tools\\server.js"),
            ("--max-tokens|4096|--token=true", "--max-tokens|4096|--token=true"),
            ("-c|echo $SECRET; MODE=fast", "-c|echo $SECRET; MODE=fast"),
            ("-c|export TOKEN=s3cr3t-value; exec srv", "-c|${MY_SERVER_ARGUMENT}"),
            ("-e|CONN=Server=h;Password=s3cr3t-value;", "-e|CONN=${MY_SERVER_CONN}"),
            ("--headers={\"X-Pass\":\"s3cr3t-value\"}", "--headers=${MY_SERVER_HEADERS}"),
            ("{\"X-Pass\":\"s3cr3t-value\"}", "${MY_SERVER_ARGUMENT}"),
            ("--token=s3cr3t-value${HOME}", "--token=${MY_SERVER_TOKEN}"),
            ("--token|s3cr3t-value${HOME}", "--token|${MY_SERVER_TOKEN}"),
            ("--db=${DB:-postgres://ann:s3cr3t-value@host/db}", "--db=${MY_SERVER_DB}"),
            ("Authorization: Basic ${USER}:s3cr3t-value", "${MY_SERVER_ARGUMENT}"),
            ("--keyboard=us|MODE=fast;LEVEL=2|PASSENGER=1", "--keyboard=us|MODE=fast;LEVEL=2|PASSENGER=1"),
            ("{\"a\":1}|${TOKEN}|/home/ann/token.json", "{\"a\":1}|${TOKEN}|/home/ann/token.json"),
            ("--header|Authorization: Bearer ${TOKEN}", "--header|Authorization: Bearer ${TOKEN}"),
            ("https://example.com/mcp", "https://example.com/mcp"),
        ] {
            let args: Vec<&str> = args.split('|').collect();
            let name = "my-server".parse().expect("a name");
            let mut spec = ServerSpec::new(name, ServerSource::command("npx", &args));
            let notes = clear(&mut spec);
            let ServerSource::Stdio { args: cleared, .. } = &spec.source else {
                panic!("a command stays one")
            };
            let cleared: Vec<&str> = cleared.iter().map(Symbolic::as_str).collect();
            assert_eq!(cleared.join("|"), expected);
            assert!(!format!("{spec:?}{notes:?}").contains(SECRET), "{args:?}: {notes:?}");
            assert_eq!(notes.is_empty(), args == cleared, "{args:?}: {notes:?}");
        }
    }

    #[test]
    fn no_secret_of_a_header_or_variable_stays() {
        for (name, text, expected) in [
            ("Authorization", "Bearer s3cr3t-value", "${MY_SERVER_AUTHORIZATION}"),
            ("Authorization", "Bearer ${TOKEN}", "Bearer ${TOKEN}"),
            ("Authorization", "Bearer ${TOKEN:-s3cr3t-value}", "Bearer ${TOKEN}"),
            ("X-Api-Key", "${TOKEN:-}", "${TOKEN:-}"),
            ("X-Mode", "fast", "fast"),
            ("X-Mode", "sk-0123456789abcdefghij", "${MY_SERVER_X_MODE}"),
            ("X-Mode", "${A} sk-0123456789abcdefghij", "${MY_SERVER_X_MODE}"),
            ("X-Token", "", ""),
            ("X-Upstream", "https://u:s3cr3t-value@h/", "${MY_SERVER_X_UPSTREAM}"),
            ("X-Upstream", "${X:-postgres://a:s3cr3t-value@h/d}", "${MY_SERVER_X_UPSTREAM}"),
            ("X-Upstream", "https://example.com/mcp", "https://example.com/mcp"),
            ("X-Headers", "{\"Authorization\":\"Bearer s3cr3t-value\"}", "${MY_SERVER_X_HEADERS}"),
            (
                "X-Headers",
                "{\"Authorization\":\"Bearer ${TOKEN}\"}",
                "{\"Authorization\":\"Bearer ${TOKEN}\"}",
            ),
            ("X-Token", "s3cr3t-value${HOME}", "${MY_SERVER_X_TOKEN}"),
            ("X-Key-File", "${HOME}/keys/one.json", "${HOME}/keys/one.json"),
            ("Authorization", "Basic ${USER}:s3cr3t-value", "${MY_SERVER_AUTHORIZATION}"),
            ("Authorization", "Basic ${X}", "Basic ${X}"),
            ("X-Conn", "Server=h;Password=s3cr3t-value;", "${MY_SERVER_X_CONN}"),
            ("X-Pass", "s3cr3t-value", "${MY_SERVER_X_PASS}"),
            ("X-Mode", "MODE=fast;LEVEL=2", "MODE=fast;LEVEL=2"),
        ] {
            let headers = BTreeMap::from([(name.to_owned(), Symbolic::from(text))]);
            let source = ServerSource::Http {
                url: "https://ann:s3cr3t-value@host/mcp".into(),
                headers,
                transport: HttpTransport::Auto,
                oauth: None,
            };
            let mut spec = ServerSpec::new("my-server".parse().expect("a name"), source);
            let notes = clear(&mut spec);
            let ServerSource::Http { headers, url, .. } = &spec.source else { panic!("a URL stays one") };
            assert_eq!(headers[name].as_str(), expected);
            assert_eq!(url.as_str(), "https://ann:${MY_SERVER_PASSWORD}@host/mcp");
            assert!(!format!("{spec:?}{notes:?}").contains(SECRET), "{notes:?}");
        }
    }
}
