//! A YAML document as a tree whose every part knows its path, and the way from a path back to line and column.

use std::{fmt, str::FromStr};

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_yaml as yaml;

use super::DocumentError;
use crate::catalog::suggest::did_you_mean;

/// A YAML value, strictly read: keys are texts and stand once, tags are refused.
#[derive(Debug)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Integer(u64),
    /// Any other number, as text.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    /// What a reader calls it.
    fn is(&self) -> String {
        match self {
            Self::Null => "empty".to_owned(),
            Self::Bool(b) => format!("the boolean {b}"),
            Self::Integer(n) => format!("the number {n}"),
            Self::Number(n) => format!("the number {n}"),
            Self::Text(t) => format!("the text `{t}`"),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a map".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain YAML value")
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_bool<E>(self, b: bool) -> Result<Node, E> {
        Ok(Node::Bool(b))
    }
    fn visit_u64<E>(self, n: u64) -> Result<Node, E> {
        Ok(Node::Integer(n))
    }
    fn visit_i64<E>(self, n: i64) -> Result<Node, E> {
        Ok(Node::Number(n.to_string()))
    }
    fn visit_f64<E>(self, n: f64) -> Result<Node, E> {
        Ok(Node::Number(format!("{n:?}"))) // `1.0`, not `1`: it is not the integer
    }
    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        while let Some(key) = map.next_key_seed(NewKey(&entries))? {
            let value = map.next_value()?;
            entries.push((key, value));
        }
        Ok(Node::Map(entries))
    }
    fn visit_enum<A: de::EnumAccess<'de>>(self, _: A) -> Result<Node, A::Error> {
        Err(de::Error::custom("tags are not read here; write the plain value"))
    }
}

/// A key that the map does not hold yet. Refused here, because an error gets the place of what is being read.
struct NewKey<'a>(&'a [(String, Node)]);

impl<'de> DeserializeSeed<'de> for NewKey<'_> {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<String, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NewKey<'_> {
    type Value = String;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a text")
    }
    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        if self.0.iter().any(|(k, _)| k == key) {
            return Err(E::custom(format!("key `{key}` stands here twice; a key has one value")));
        }
        Ok(key.to_owned())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Item(usize),
}

/// Something wrong, at a path; [`locate`] finds its line.
#[derive(Debug)]
pub(crate) struct Fault {
    path: Vec<Step>,
    /// The key itself, not its value.
    at_key: bool,
    message: String,
}

/// A node and the path to it.
pub(crate) struct At<'d> {
    pub(crate) node: &'d Node,
    path: Vec<Step>,
}

impl<'d> At<'d> {
    pub(crate) fn root(node: &'d Node) -> Self {
        Self { node, path: Vec::new() }
    }

    fn below(&self, step: Step, node: &'d Node) -> Self {
        let mut path = self.path.clone();
        path.push(step);
        Self { node, path }
    }

    /// A fault of the value.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault { path: self.path.clone(), at_key: false, message: message.into() }
    }

    /// A fault of the key that leads here.
    pub(crate) fn key_fault(&self, message: impl Into<String>) -> Fault {
        Fault { path: self.path.clone(), at_key: true, message: message.into() }
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let name = self.path.iter().rev().find_map(|s| match s {
            Step::Key(key) => Some(format!("`{key}`")),
            Step::Item(_) => None,
        });
        let name = name.unwrap_or_else(|| "the document".to_owned());
        self.fault(format!("{name} is {}; expected {expected}", self.node.is()))
    }

    /// The entries of a map that may have no other keys than these.
    pub(crate) fn fields(&self, what: &str, keys: &[&str]) -> Result<Fields<'d>, Fault> {
        for (key, at) in self.entries(&format!("{what}: {}", listed(keys)))? {
            if !keys.contains(&key) {
                let hint = did_you_mean(key, keys.iter().copied());
                let hint = if hint.is_empty() { format!("; it may have {}", listed(keys)) } else { hint };
                return Err(at.key_fault(format!("unknown key `{key}` in {what}{hint}")));
            }
        }
        Ok(Fields { at: Self { node: self.node, path: self.path.clone() }, what: what.to_owned() })
    }

    /// The entries of a map.
    pub(crate) fn entries(&self, expected: &str) -> Result<Vec<(&'d str, Self)>, Fault> {
        match self.node {
            Node::Map(entries) => {
                Ok(entries.iter().map(|(k, v)| (k.as_str(), self.below(Step::Key(k.clone()), v))).collect())
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// The items of a list.
    pub(crate) fn list(&self, of: &str) -> Result<Vec<Self>, Fault> {
        match self.node {
            Node::List(items) => {
                Ok(items.iter().enumerate().map(|(i, v)| self.below(Step::Item(i), v)).collect())
            }
            _ => Err(self.unexpected(&format!("a list of {of}"))),
        }
    }

    /// A text.
    pub(crate) fn text(&self, expected: &str) -> Result<&'d str, Fault> {
        match self.node {
            Node::Text(text) => Ok(text),
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A text, or an integer for what can be written as one, read as `T`.
    pub(crate) fn parse<T: FromStr<Err: fmt::Display>>(&self, expected: &str) -> Result<T, Fault> {
        let text = match self.node {
            Node::Text(text) => text.clone(),
            Node::Integer(n) => n.to_string(),
            _ => return Err(self.unexpected(expected)),
        };
        text.parse().map_err(|e: T::Err| self.fault(e.to_string()))
    }

    /// A whole number from 0 to what a person would write.
    pub(crate) fn count(&self, expected: &str) -> Result<u32, Fault> {
        const MOST: u64 = 100_000;
        match self.node {
            Node::Integer(n) => match u32::try_from(*n) {
                Ok(count) if *n <= MOST => Ok(count),
                _ => Err(self.fault(format!("{n} is too large; expected {expected}, at most {MOST}"))),
            },
            _ => Err(self.unexpected(expected)),
        }
    }

    /// One of these words.
    pub(crate) fn word<T: Copy>(&self, words: &[T], as_str: fn(T) -> &'static str) -> Result<T, Fault> {
        let all: Vec<&str> = words.iter().map(|w| as_str(*w)).collect();
        let text = self.text(&format!("one of {}", listed(&all)))?;
        words.iter().copied().find(|w| as_str(*w) == text).ok_or_else(|| {
            let hint = did_you_mean(text, all.iter().copied());
            self.fault(format!("unknown word `{text}`, expected one of {}{hint}", listed(&all)))
        })
    }
}

/// The entries of a map whose keys were checked.
pub(crate) struct Fields<'d> {
    at: At<'d>,
    what: String,
}

impl<'d> Fields<'d> {
    /// The value of a key, where it is there.
    pub(crate) fn get(&self, key: &str) -> Option<At<'d>> {
        match self.at.node {
            Node::Map(entries) => {
                entries.iter().find(|(k, _)| k == key).map(|(k, v)| self.at.below(Step::Key(k.clone()), v))
            }
            _ => None,
        }
    }

    /// The value of a key that has to be there.
    pub(crate) fn need(&self, key: &str) -> Result<At<'d>, Fault> {
        self.get(key).ok_or_else(|| self.at.fault(format!("{} has no `{key}`", self.what)))
    }

    /// A fault of one of the keys.
    pub(crate) fn key_fault(&self, key: &str, message: &str) -> Fault {
        self.get(key).map_or_else(|| self.at.fault(message), |at| at.key_fault(message))
    }
}

fn listed(words: &[&str]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

/// Line and column of a fault. The parser tells the place of an error only, so the document is read once more with a
/// reader that fails on purpose where the path ends.
pub(crate) fn locate(text: &str, fault: Fault) -> DocumentError {
    let reader = Follow { path: &fault.path, at_key: fault.at_key };
    let place = reader.deserialize(yaml::Deserializer::from_str(text)).err().and_then(|e| e.location());
    DocumentError {
        line: place.as_ref().map_or(1, yaml::Location::line),
        column: place.as_ref().map_or(1, yaml::Location::column),
        message: fault.message,
    }
}

struct Follow<'p> {
    path: &'p [Step],
    at_key: bool,
}

impl Follow<'_> {
    fn arrived<E: de::Error>() -> E {
        E::custom("here")
    }
}

impl<'de> DeserializeSeed<'de> for Follow<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Follow<'_> {
    type Value = ();
    // Whatever is not visited below is a scalar, at which a path can only end: any error will do.
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the end of a path")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let Some((Step::Item(wanted), path)) = self.path.split_first() else { return Err(Self::arrived()) };
        for _ in 0..*wanted {
            seq.next_element::<IgnoredAny>()?;
        }
        seq.next_element_seed(Follow { path, at_key: self.at_key })?;
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((Step::Key(wanted), path)) = self.path.split_first() else { return Err(Self::arrived()) };
        let stop = self.at_key && path.is_empty();
        while let Some(found) = map.next_key_seed(Wanted { key: wanted, stop })? {
            if found {
                return map.next_value_seed(Follow { path, at_key: self.at_key });
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

/// Whether a key is the wanted one; fails at it where the path ends with the key.
struct Wanted<'a> {
    key: &'a str,
    stop: bool,
}

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<bool, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a text")
    }
    fn visit_str<E: de::Error>(self, key: &str) -> Result<bool, E> {
        if self.stop && key == self.key { Err(Follow::arrived()) } else { Ok(key == self.key) }
    }
}
