//! The references of each host, written as ours: `${env:VAR}`, `$VAR`, `${input:id}`, `${spring.property:default}`.

use super::Host;
use crate::catalog::server::Symbolic;

/// A host's text as a symbolic one. `note` is told which variable stands for something that is no variable there.
pub(super) fn symbolic(host: Host, text: &str, note: &mut impl FnMut(String)) -> Symbolic {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some((inside, after)) = rest.strip_prefix("${").and_then(|r| r.split_once('}')) {
            let inside = reference(host, inside, note);
            // What no host would resolve is no reference of its: `${x[1]}` of a script.
            if !(is_reference(&inside) || is_call(&inside)) {
                out.push('$');
            }
            out.push_str("${");
            out.push_str(&inside);
            out.push('}');
            rest = after;
        } else if let Some(name) = bare(rest).filter(|_| host == Host::Gemini) {
            out.push_str("${");
            out.push_str(name);
            out.push('}');
            rest = &rest[1 + name.len()..];
        } else {
            out.push('$');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    Symbolic::from(out)
}

/// A variable, with or without a default.
fn is_reference(inside: &str) -> bool {
    let name = inside.split_once(":-").map_or(inside, |(name, _)| name);
    bare(&format!("${name}")) == Some(name)
}

/// Something that a host works out, such as `command:pick`. It stays: what we could work out by running or reading
/// something is refused by who reads the file, the rest when the server is asked.
fn is_call(inside: &str) -> bool {
    inside.split_once(':').is_some_and(|(what, _)| what.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// `VAR` of `$VAR`.
fn bare(text: &str) -> Option<&str> {
    let name = &text[1..];
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    let name = &name[..end];
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(name)
}

fn reference(host: Host, inside: &str, note: &mut impl FnMut(String)) -> String {
    if let Some(name) = inside.strip_prefix("env:") {
        return name.to_owned();
    }
    if let Some(id) = inside.strip_prefix("input:") {
        let name = variable(id);
        note(format!("its input `{id}` is read from the variable `{name}`"));
        return name;
    }
    if inside == "userHome" {
        return "HOME".to_owned();
    }
    if host == Host::Spring {
        let (property, default) = match inside.split_once(':') {
            Some((property, default)) => (property, Some(default.strip_prefix('-').unwrap_or(default))),
            None => (inside, None),
        };
        // Relaxed binding: dots become underscores, dashes go.
        let name = variable(&property.replace('-', ""));
        if name != property {
            note(format!("its property `{property}` is read from the variable `{name}`"));
        }
        return default.map_or(name.clone(), |default| format!("{name}:-{default}"));
    }
    inside.to_owned()
}

/// A text as the name of a variable: upper case, underscores for what no name may have.
pub(super) fn variable(text: &str) -> String {
    let name: String = text
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
        .collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("_{name}") }
}

#[cfg(test)]
mod tests {
    use super::{Host, symbolic};

    #[test]
    fn every_hosts_reference_becomes_ours() {
        for (host, text, expected) in [
            (Host::Claude, "Bearer ${TOKEN}", "Bearer ${TOKEN}"),
            (Host::Claude, "${HOST:-localhost}:$PORT", "${HOST:-localhost}:$PORT"),
            (Host::VsCode, "${env:TOKEN}", "${TOKEN}"),
            (Host::VsCode, "k=${input:api-key}", "k=${API_KEY}"),
            (Host::Cursor, "${userHome}/x", "${HOME}/x"),
            (Host::Cursor, "${workspaceFolder}", "${workspaceFolder}"),
            (Host::Gemini, "$TOKEN and ${OTHER}, $5, $", "${TOKEN} and ${OTHER}, $5, $"),
            (Host::Spring, "${github.api-token}", "${GITHUB_APITOKEN}"),
            (Host::Spring, "${PORT:8080}", "${PORT:-8080}"),
            (Host::Claude, "${open", "${open"),
            (Host::VsCode, "${command:pick}", "${command:pick}"),
            (Host::Claude, "${list[@]} ${x%.*}", "$${list[@]} $${x%.*}"),
        ] {
            assert_eq!(symbolic(host, text, &mut |_| ()).as_str(), expected, "{text}");
        }
    }
}
