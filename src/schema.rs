//! JSON Schema as a set of values: is every value of one schema a value of another?
//!
//! Three answers ([`Answer`]): contained, refuted by a value that validators confirm, unknown with the reason. The
//! order of work is: a structural proof ([`prove`]), a search for a value ([`witness`]), then the set algebra of the
//! `jsonschema` crate ([`algebra`]). Only `schema/` names that crate. Nothing is ever fetched.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod algebra;
mod circle;
mod declared;
mod dialect;
mod ecma;
mod evaluate;
mod facts;
mod form;
mod hints;
pub mod limits;
mod pattern;
mod prove;
mod sample;
mod seen;
mod text;
mod values;
mod witness;

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
};

pub use dialect::{asserts, resolve};
pub use facts::{compare, named_types, type_of, types};
use jsonschema::{Draft, PatternCache, Registry, ValidationError, Validator};
use serde_json::{Value, json};

use crate::json::Pointer;

/// A schema ready to be asked about.
#[derive(Debug)]
pub struct Schema {
    /// The schema as its author wrote it; its dialect stands beside it.
    source: Value,
    /// The same set of values, written in 2020-12.
    translated: Translated,
    draft: Draft,
    /// `format` rejects values.
    formats: bool,
    /// It is known to compile, though nobody has compiled it yet.
    plain: bool,
    validator: OnceLock<Option<Validator>>,
    /// Values that callers were seen to send.
    seen: Option<Arc<[Value]>>,
}

/// A schema in 2020-12.
#[derive(Debug)]
enum Translated {
    /// As it stands.
    AsWritten,
    /// In other words.
    Otherwise(Value),
    /// There are no such words, and this is why.
    No(String),
    /// It says of a value what it is by what that same value is, and validators do not agree on what that means.
    Circular(String),
}

/// A text that is no schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no valid JSON Schema: {0}")]
pub struct InvalidSchema(pub String);

/// Why a value is not accepted: where in the value, by which keyword, in the validator's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Where in the value.
    pub at: Pointer,
    /// The keyword that objects.
    pub keyword: String,
    /// The validator's words.
    pub reason: String,
}

/// How a value is rejected: by which keywords, and where in the value.
type Way = Vec<(String, String)>;

fn keyword(error: &ValidationError<'_>) -> String {
    error.schema_path().as_str().rsplit('/').next().unwrap_or_default().to_owned()
}

/// A value that one schema accepts and another rejects.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterexample {
    /// The value.
    pub value: Value,
    /// Everything the rejecting schema says of it; never empty.
    pub rejections: Vec<Rejection>,
}

/// What became of values that were held against two schemas; see [`tried`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tried {
    /// How many the first rejects.
    pub rejected_before: usize,
    /// How many the first accepts and the second rejects.
    pub broken: usize,
    /// The plainest of the broken ones, one for each way of being rejected, whatever their order was.
    pub found: Vec<Counterexample>,
}

/// Whether every value of one schema is a value of another.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is, and this is what proves it.
    Contained(&'static str),
    /// It is not: values that show it, the plainest first; never empty.
    Refuted(Vec<Counterexample>),
    /// Nobody knows, and this is why.
    Unknown(String),
}

impl Schema {
    /// Reads a schema in which `format` is an annotation; see [`Self::reading`].
    ///
    /// # Errors
    /// As [`Self::reading`].
    pub fn new(source: &Value) -> Result<Self, InvalidSchema> {
        Self::reading(source, false)
    }

    /// Reads a schema. `$schema` chooses the dialect; absent, it is 2020-12 (MCP 2025-11-25, SEP-1613). `formats` says
    /// whether a `format` that its dialect defines rejects values.
    ///
    /// # Errors
    /// Where the meta-schema of its dialect rejects it, or it nests or grows beyond [`limits`].
    pub fn reading(source: &Value, formats: bool) -> Result<Self, InvalidSchema> {
        let nodes = limits::nodes(source);
        if nodes > limits::MAX_NODES {
            return Err(InvalidSchema(format!("it has {nodes} members, the limit is {}", limits::MAX_NODES)));
        }
        let draft = dialect::of(source);
        let plain = form::is_plain(source, draft);
        let compiled = OnceLock::new();
        if !plain {
            // Building a validator asks the meta-schema; only where it fails is it worth knowing what failed.
            let validator = compiled.get_or_init(|| validator(source, draft, formats, false));
            if validator.is_none()
                && let Err(error) = jsonschema::meta::options().validate(source)
            {
                return Err(InvalidSchema(format!("{error} at `{}`", error.instance_path())));
            }
        }
        let mut source = source.clone();
        let translated = if dialect::is_as_written(&source, draft, formats) {
            if let Value::Object(members) = &mut source {
                members.shift_remove("$schema");
            }
            debug_assert_eq!(dialect::translate(&source, draft, formats).as_ref(), Ok(&source));
            Translated::AsWritten
        } else {
            match dialect::translate(&source, draft, formats) {
                Ok(other) => Translated::Otherwise(other),
                Err(reason) => match circle::may_be(&source) {
                    Some(target) => Translated::Circular(format!(
                        "the schema of one value stands on itself, by way of a reference to `{}`",
                        limits::cut(target)
                    )),
                    None => Translated::No(reason),
                },
            }
        };
        Ok(Self { source, translated, draft, formats, plain, validator: compiled, seen: None })
    }

    /// The same, with values that callers were seen to send: counterexamples are built of them where they fit.
    #[must_use]
    pub fn seeing(self, seen: &[&Value]) -> Self {
        // What was seen most stands for the rest, in an order that is not that of the calls.
        let mut counts: HashMap<String, (usize, &Value)> = HashMap::new();
        for value in seen {
            counts.entry(value.to_string()).or_insert((0, value)).0 += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by(|(a, (n, _)), (b, (m, _))| {
            m.cmp(n).then_with(|| a.len().cmp(&b.len())).then_with(|| a.cmp(b))
        });
        let kept = counts.into_iter().take(limits::SEEN).flat_map(|(_, (n, value))| {
            // A value that was seen often is to be told from one that was not.
            std::iter::repeat_n(value.clone(), n.min(2))
        });
        Self { seen: Some(kept.collect()), ..self }
    }

    /// A schema to build values of, with what was seen among its examples.
    fn with_examples<'v>(&self, schema: &'v Value) -> Cow<'v, Value> {
        match &self.seen {
            Some(seen) => Cow::Owned(seen::as_examples(schema, &seen.iter().collect::<Vec<_>>())),
            None => Cow::Borrowed(schema),
        }
    }

    /// The set of values whose objects hold only properties that this schema declares, at every depth. Objects of
    /// which it declares nothing stay as they are. `Err` says why it cannot be expressed.
    pub(crate) fn closed(&self) -> Result<Self, String> {
        self.rewritten(declared::close)
    }

    /// This schema without its objections to undeclared properties, at every depth: a consumer who reads only what
    /// was declared does not see them.
    pub(crate) fn opened(&self) -> Result<Self, String> {
        self.rewritten(declared::open)
    }

    fn rewritten(&self, rewrite: fn(&Value) -> Result<Value, String>) -> Result<Self, String> {
        let source = rewrite(self.translated()?)?;
        let draft = Draft::Draft202012;
        let plain = form::is_plain(&source, draft);
        let (formats, validator) = (self.formats, OnceLock::new());
        let seen = self.seen.clone();
        Ok(Self { translated: Translated::AsWritten, source, draft, formats, plain, validator, seen })
    }

    /// The schema in 2020-12, or why there is none.
    fn translated(&self) -> Result<&Value, &str> {
        match &self.translated {
            Translated::AsWritten => Ok(&self.source),
            Translated::Otherwise(other) => Ok(other),
            Translated::No(reason) | Translated::Circular(reason) => Err(reason),
        }
    }

    /// Why nothing can be claimed of the schema, whatever a validator says.
    fn means_nothing(&self) -> Option<&str> {
        match &self.translated {
            Translated::Circular(reason) => Some(reason),
            Translated::AsWritten | Translated::Otherwise(_) | Translated::No(_) => None,
        }
    }

    /// Whether both are written alike, so that what is known of one is known of the other.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        matches!((self.translated(), other.translated()), (Ok(a), Ok(b)) if a == b)
    }

    /// Whether the schema accepts a value; nothing where it cannot be compiled (a pattern that is none, a reference
    /// that leads nowhere).
    #[must_use]
    pub fn accepts(&self, value: &Value) -> Option<bool> {
        Some(self.validator()?.is_valid(value))
    }

    /// Everything the schema says against a value.
    #[must_use]
    pub fn rejections(&self, value: &Value) -> Vec<Rejection> {
        self.errors(value)
            .map(|e| Rejection {
                at: Pointer::from(e.instance_path().as_str()),
                keyword: keyword(&e),
                reason: limits::cut(&e.to_string()),
            })
            .collect()
    }

    /// The same without words, which cost more than finding it.
    fn objections(&self, value: &Value) -> Way {
        self.errors(value).map(|e| (keyword(&e), e.instance_path().as_str().to_owned())).collect()
    }

    fn errors<'a>(&'a self, value: &'a Value) -> impl Iterator<Item = ValidationError<'a>> {
        let errors = self.validator().map(|validator| validator.iter_errors(value));
        errors.into_iter().flatten().take(limits::REJECTIONS)
    }

    /// Whether it can be compiled at all.
    fn usable(&self) -> bool {
        self.plain || self.validator().is_some()
    }

    fn validator(&self) -> Option<&Validator> {
        self.validator.get_or_init(|| validator(&self.source, self.draft, self.formats, self.plain)).as_ref()
    }
}

/// A validator under this dialect. The `content…` keywords are annotations, as 2020-12 has them and as older dialects
/// allow; so is `format` unless it is asserted. `plain` schemas are known to be valid ([`form`]).
fn validator(schema: &Value, draft: Draft, formats: bool, plain: bool) -> Option<Validator> {
    thread_local! {
        // The two sides of a pair and what is made of them hold the same patterns, and compiling one costs as much as
        // all else in a schema.
        static PATTERNS: RefCell<(usize, PatternCache)> = RefCell::default();
    }
    let patterns = PATTERNS.with_borrow_mut(|(used, cache)| {
        *used += 1;
        if *used > limits::CACHED_BUILDS {
            (*used, *cache) = (0, PatternCache::new());
        }
        cache.clone()
    });
    let options = jsonschema::options()
        .with_pattern_cache(patterns)
        .should_validate_formats(formats)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json")
        .offline();
    let schema = dialect::without_retired(schema, draft);
    if !plain {
        return options.with_draft(draft).build(&schema).ok();
    }
    // What is built is held against its meta-schema, and compiling that of 2020-12 costs a process more than a short
    // diff; what is referred to is not. A document that does nothing but refer can be of a dialect with a small one.
    let document = draft.create_resource_ref(&schema);
    let registry = Registry::new().add(ELSEWHERE, document).ok()?.prepare().ok()?;
    let reference = json!({ "$ref": ELSEWHERE });
    options.with_draft(Draft::Draft4).with_registry(&registry).build(&reference).ok()
}

/// Maps and sets of small keys that only live as long as a question.
type FastMap<K, V> = HashMap<K, V, ahash::RandomState>;
type FastSet<T> = HashSet<T, ahash::RandomState>;

/// Where a schema is put to be referred to.
const ELSEWHERE: &str = "urn:toolpact:schema";

/// Whether every value of `inner` is a value of `outer`.
///
/// `also` are further schemas that a counterexample must satisfy, so that a value found in a rewritten schema is known
/// to be good in the one its author wrote.
#[must_use]
pub fn contained(inner: &Schema, outer: &Schema, also: &[&Schema]) -> Answer {
    by_structure(inner, outer).unwrap_or_else(|| by_search(inner, outer, also))
}

/// Which of some values `inner` accepts and `outer` rejects; nothing where either cannot be compiled, or has no meaning that
/// validators agree on.
#[must_use]
pub fn tried(inner: &Schema, outer: &Schema, values: &[&Value]) -> Option<Tried> {
    let usable = |schema: &Schema| schema.means_nothing().is_none() && schema.validator().is_some();
    (usable(inner) && usable(outer)).then(|| witness::among(inner, outer, values))
}

/// The part of [`contained`] that costs little: the proof that needs neither values nor validators, or why nothing can be
/// said. Nothing where it is worth searching.
pub(crate) fn by_structure(inner: &Schema, outer: &Schema) -> Option<Answer> {
    if !inner.usable() {
        return Some(Answer::Unknown("the first schema cannot be compiled".to_owned()));
    }
    if !outer.usable() {
        return Some(Answer::Unknown("the second schema cannot be compiled".to_owned()));
    }
    if let Some(reason) = inner.means_nothing().or(outer.means_nothing()) {
        return Some(Answer::Unknown(reason.to_owned()));
    }
    match (inner.translated(), outer.translated()) {
        (Ok(a), Ok(b)) if prove::contained(a, b) => Some(Answer::Contained("structure")),
        _ => None,
    }
}

/// The part of [`contained`] for what structure does not prove.
pub(crate) fn by_search(inner: &Schema, outer: &Schema, also: &[&Schema]) -> Answer {
    let both = match (inner.translated(), outer.translated()) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason.to_owned()),
    };
    // A schema that cannot be translated can still be sampled as it stands.
    let (a, b) = both.as_ref().map_or((&inner.source, &outer.source), |(a, b)| (*a, *b));
    let (from, hints) = (inner.with_examples(a), inner.with_examples(b));
    let mut found = witness::search(inner, outer, also, &from, &hints);
    if inner.seen.is_some() {
        // What was seen leads the search, and must not lead it away from anything.
        witness::add(&mut found, witness::search(inner, outer, also, a, b));
    }
    if !found.is_empty() {
        return Answer::Refuted(found);
    }
    match both {
        Err(reason) => Answer::Unknown(reason),
        // The algebra would pass over it.
        Ok((a, b)) if dialect::is_opaque(a) || dialect::is_opaque(b) => Answer::Unknown(
            "the set algebra knows neither asserted formats nor the `integer` of draft-04".to_owned(),
        ),
        Ok((a, b)) => match algebra::contained(a, b) {
            algebra::Outcome::Contained => Answer::Contained("set algebra"),
            algebra::Outcome::Difference(difference) => {
                let found = witness::search(inner, outer, also, &difference, b);
                if found.is_empty() {
                    Answer::Unknown("a difference exists on paper, and no value of it was found".to_owned())
                } else {
                    Answer::Refuted(found)
                }
            }
            algebra::Outcome::Unknown(reason) => Answer::Unknown(reason),
        },
    }
}
