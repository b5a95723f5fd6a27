//! Not tests: what every page has to be, whatever it shows. A scan for tags, not a parser: our own pages are regular.

use std::collections::BTreeSet;

/// One heading of the first level, none skipped; ids once; every field labelled; nothing inline; tags balanced.
pub(super) fn check(path: &str, html: &str) {
    assert!(html.starts_with("<!doctype html>\n<html lang=\"en\">"), "{path}");
    headings(path, html);
    let mut ids = BTreeSet::new();
    for id in values(html, "id") {
        assert!(ids.insert(id), "{path}: two elements have the id `{id}`");
    }
    for wanted in values(html, "aria-labelledby").chain(values(html, "for")) {
        assert!(ids.contains(wanted), "{path}: nothing has the id `{wanted}`");
    }
    let labelled: BTreeSet<_> = values(html, "for").collect();
    for tag in tags(html) {
        for (name, _) in attributes(tag) {
            assert!(!name.starts_with("on") && name != "style", "{path}: `{tag}` has an inline {name}");
        }
        let field = ["input ", "select ", "textarea "].iter().any(|t| tag.starts_with(t));
        // What is ticked stands inside its label.
        let hidden = ["hidden", "checkbox", "radio"].iter().any(|t| tag.contains(&format!("type=\"{t}\"")));
        let id = attributes(tag).find(|(n, _)| *n == "id").map(|(_, v)| v);
        assert!(
            !field || hidden || id.is_some_and(|id| labelled.contains(id)),
            "{path}: `{tag}` has no label"
        );
        let ours = tag == "script src=\"/assets/app.js\" defer";
        assert!(ours || !tag.starts_with("script") && !tag.starts_with("style"), "{path}: `{tag}`");
        assert!(!tag.starts_with("img") || tag.contains("src=\"/assets/mark.svg\""), "{path}: `{tag}`");
    }
    balanced(path, html);
}

fn headings(path: &str, html: &str) {
    let mut last = 0;
    let mut firsts = 0;
    for tag in tags(html) {
        let Some(level) = ["h1", "h2", "h3", "h4"].iter().position(|h| tag.split(' ').next() == Some(h))
        else {
            continue;
        };
        let level = level + 1;
        firsts += usize::from(level == 1);
        assert!(level <= last + 1, "{path}: a heading of level {level} follows one of level {last}");
        last = level;
    }
    assert_eq!(firsts, 1, "{path}: one heading of the first level");
}

fn balanced(path: &str, html: &str) {
    const VOID: [&str; 6] = ["meta", "link", "img", "input", "br", "!doctype"];
    let mut open = Vec::new();
    for tag in tags(html) {
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{path}: `{tag}` closes something else");
        } else if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{path}: {open:?} stay open");
}

/// The insides of all tags. Attribute values are escaped, so no `>` stands in them.
fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default())
}

/// The attributes of a tag with their values.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = tag;
    std::iter::from_fn(move || {
        let (before, after) = rest.split_once("=\"")?;
        let (value, left) = after.split_once('"')?;
        rest = left;
        Some((before.rsplit([' ', '\n']).next().unwrap_or_default(), value))
    })
}

/// Every value of an attribute, as written.
pub(super) fn values<'h>(html: &'h str, name: &'h str) -> impl Iterator<Item = &'h str> {
    tags(html).flat_map(attributes).filter(move |(n, _)| *n == name).map(|(_, value)| value)
}
