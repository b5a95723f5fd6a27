//! What may have become of a tool that is gone: renamed, split into several, or merged with others into one.
//!
//! A hint and nothing more: names and parameters suggest it, no answer depends on it, and a removed tool stays a break.
//! Where the lists are long or odd there is no hint rather than much work.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use crate::{
    contract::{Contract, WORDS},
    json,
};

/// What a removed tool looks like it became. Names are those of the candidate, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Successor {
    /// Another name.
    Renamed(String),
    /// Two tools or more that share the work.
    Split(Vec<String>),
    /// One tool that does the work of this one and of others that are gone too.
    Merged(String),
}

/// Tools that share a word in their names. More than that is a server's prefix, and says nothing.
const MAX_PARTS: usize = 64;

/// Parameters of one tool, a bit each. The largest real tool has 35.
const MAX_PARAMETERS: usize = u128::BITS as usize;

/// Lists of values in one tool that may name what it does, and values in such a list.
const MAX_CHOICES: usize = 4;

/// See [`MAX_CHOICES`]; the longest real one has 15.
const MAX_VALUES: usize = 32;

/// Bytes of a name that is taken apart. Names should have up to 128 (MCP 2025-11-25, server/tools).
const MAX_NAME: usize = 128;
/// Words of a name that count.
const MAX_WORDS: usize = 12;

/// What each removed tool looks like it became, in the order of `removed`.
pub(super) fn successors(removed: &[&Contract], added: &[&Contract]) -> Vec<Option<Successor>> {
    if removed.is_empty() || added.is_empty() {
        return vec![None; removed.len()];
    }
    let mut terms = Terms::default();
    let mut outlines = |tools: &[&Contract]| -> Vec<Outline> {
        tools.iter().map(|tool| Outline::of(tool, &mut terms)).collect()
    };
    let (gone, come) = (outlines(removed), outlines(added));
    let (names, index, merged) = (Names::of(added), by_word(&come), merged(&gone, &come));
    // What took in others is no new name of one alone.
    let takers: BTreeSet<usize> = merged.iter().flatten().copied().collect();
    let successor = |i: usize| {
        let same = names.same_schema(removed[i], &gone[i], &come);
        let close = names.close(&removed[i].name);
        let named = |j: usize| added[j].name.clone();
        // Schema and name agree.
        if let Some((j, agrees)) = same
            && (agrees || close == Some(j))
        {
            return Some(Successor::Renamed(named(j)));
        }
        let parts = parts(&gone[i], &sharing(&gone[i], &come, &index));
        if !parts.is_empty() {
            return Some(Successor::Split(parts.into_iter().map(named).collect()));
        }
        if let Some(j) = merged[i].or(close.filter(|j| same.is_none() && takers.contains(j))) {
            return Some(Successor::Merged(named(j)));
        }
        same.map(|(j, _)| j).or(close).map(|j| Successor::Renamed(named(j)))
    };
    (0..removed.len()).map(successor).collect()
}

/// For each tool that is gone, the added one that took it in with others.
fn merged(gone: &[Outline], come: &[Outline]) -> Vec<Option<usize>> {
    let index = by_word(gone);
    let mut into: Vec<Option<usize>> = vec![None; gone.len()];
    for (j, tool) in come.iter().enumerate() {
        for i in parts(tool, &sharing(tool, gone, &index)) {
            // The name that says most about what it is for, then the first.
            if into[i].is_none_or(|other| come[other].stem.len() < tool.stem.len()) {
                into[i] = Some(j);
            }
        }
    }
    into
}

/// A word of a name, or a parameter's name without its style, as a number: they are compared often.
type Term = u32;

/// The words of a name in order, and whether each is one for looking at something.
type Words = Vec<(Term, bool)>;

/// The numbers of terms, in the order in which they were met.
#[derive(Default)]
struct Terms(HashMap<String, Term>);

impl Terms {
    fn of(&mut self, text: String) -> Term {
        let next = Term::try_from(self.0.len()).unwrap_or(Term::MAX);
        *self.0.entry(text).or_insert(next)
    }

    fn words(&mut self, name: &str) -> Words {
        let reads = |word: &str| READS.contains(&word);
        words(name).into_iter().map(|word| (reads(&word), word)).map(|(r, word)| (self.of(word), r)).collect()
    }
}

/// What is compared of a tool.
struct Outline {
    /// The words of its name.
    words: Vec<Term>,
    /// Those that say something of what it is for.
    stem: Vec<Term>,
    /// By its name it looks at something and changes nothing.
    reads: bool,
    /// Which of the two general words its name has.
    general: Option<General>,
    /// Its arguments are not those that any tool may take, as one text or an owner and a repository.
    distinct: bool,
    /// Its parameters in order, at most [`MAX_PARAMETERS`].
    parameters: Vec<Term>,
    /// The one that says what to do, by its name.
    action: Option<Term>,
    /// Parameters that take one of a few words, which may say what to do: with the words of each value.
    choices: Vec<(Term, Vec<Words>)>,
}

/// `issue_read` looks and `issue_write` changes, whatever they are told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum General {
    Read,
    Write,
}

impl Outline {
    fn of(tool: &Contract, terms: &mut Terms) -> Self {
        let said = words(&tool.name);
        let has = |word: &str| said.iter().any(|w| w == word);
        let general = match (has("read"), has("write")) {
            (true, false) => Some(General::Read),
            (false, true) => Some(General::Write),
            _ => None,
        };
        let stem =
            said.iter().filter(|w| !ANYTHING.contains(&w.as_str())).map(|w| terms.of(w.clone())).collect();
        let words = terms.words(&tool.name);
        let declared = tool.input_schema().get("properties").and_then(Value::as_object);
        let declared = declared.filter(|p| p.len() <= MAX_PARAMETERS);
        let mut outline = Self {
            reads: words.iter().any(|(_, reads)| *reads),
            words: words.into_iter().map(|(word, _)| word).collect(),
            stem,
            general,
            distinct: declared.is_some_and(is_distinct),
            parameters: Vec::new(),
            action: None,
            choices: Vec::new(),
        };
        for (name, schema) in declared.into_iter().flatten() {
            let plain = plain(name);
            let is_action = ACTIONS.contains(&plain.as_str());
            let parameter = terms.of(plain);
            outline.parameters.push(parameter);
            if is_action {
                outline.action = outline.action.or(Some(parameter));
            }
            let values = schema.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if (2..=MAX_VALUES).contains(&values.len()) && outline.choices.len() < MAX_CHOICES {
                let said = values.iter().filter_map(Value::as_str).map(|value| terms.words(value)).collect();
                outline.choices.push((parameter, said));
            }
        }
        outline.parameters.sort_unstable();
        outline.parameters.dedup();
        outline
    }

    fn has(&self, word: Term) -> bool {
        self.words.contains(&word)
    }

    /// Whether both names have a word that says something, where there are any arguments. The first word of both is a
    /// server's prefix, or what all tools begin with.
    fn shares_a_word(&self, other: &Self) -> bool {
        let both_begin = |word: &&Term| self.words.first() == Some(word) && other.words.first() == Some(word);
        !self.parameters.is_empty() && self.stem.iter().any(|word| other.has(*word) && !both_begin(&word))
    }

    /// Whether the tool's name says what one value of a choice says: `get_comments` and `list_issue_comments`.
    fn does(&self, value: &[(Term, bool)]) -> bool {
        !value.is_empty() && value.iter().all(|(word, reads)| self.has(*word) || *reads && self.reads)
    }

    /// Whether nothing in this tool's name is against doing what another does.
    fn may_do(&self, other: &Self) -> bool {
        self.general.is_none_or(|general| (general == General::Read) == other.reads)
    }

    /// The parameters that another tool has as well: a bit each, in this tool's order.
    fn shared(&self, other: &Self) -> u128 {
        let (mut bits, mut theirs) = (0, other.parameters.iter().peekable());
        for (i, mine) in self.parameters.iter().enumerate() {
            while theirs.next_if(|their| *their < mine).is_some() {}
            if theirs.peek() == Some(&mine) {
                bits |= 1 << i;
            }
        }
        bits
    }

    /// The bit of a parameter.
    fn bit(&self, parameter: Term) -> u128 {
        self.parameters.binary_search(&parameter).map_or(0, |i| 1 << i)
    }
}

/// Parameters from which on their names alone tell a tool from others.
const MANY: usize = 3;

/// Whether parameters are hardly those of another tool by chance: they are many, or one says more than its type.
fn is_distinct(parameters: &Map<String, Value>) -> bool {
    let says_more = |schema: &Value| {
        let mut keywords = schema.as_object().into_iter().flat_map(Map::keys);
        keywords.any(|keyword| keyword != "type" && !WORDS.contains(&keyword.as_str()))
    };
    parameters.len() >= MANY || parameters.values().any(says_more)
}

/// Which tools have a word in their names.
fn by_word(tools: &[Outline]) -> HashMap<Term, Vec<usize>> {
    let mut index: HashMap<Term, Vec<usize>> = HashMap::new();
    for (i, tool) in tools.iter().enumerate() {
        for word in tool.words.iter().collect::<BTreeSet<_>>() {
            index.entry(*word).or_default().push(i);
        }
    }
    index
}

/// The tools whose names hold the whole stem of this one.
fn sharing<'o>(
    wide: &Outline,
    tools: &'o [Outline],
    index: &HashMap<Term, Vec<usize>>,
) -> Vec<(usize, &'o Outline)> {
    let lists = wide.stem.iter().map(|word| index.get(word).map_or(&[][..], Vec::as_slice));
    let Some(rarest) = lists.min_by_key(|list| list.len()).filter(|list| list.len() <= MAX_PARTS) else {
        return Vec::new();
    };
    let found = rarest.iter().map(|i| (*i, &tools[*i]));
    found.filter(|(_, tool)| wide.stem.iter().all(|word| tool.has(*word))).collect()
}

/// A tool that may do a part of what another does.
struct Part<'o> {
    at: usize,
    tool: &'o Outline,
    /// The parameters that both have.
    shared: u128,
}

/// Which of `narrow` do together what `wide` does alone; none, or at least two.
fn parts(wide: &Outline, narrow: &[(usize, &Outline)]) -> Vec<usize> {
    let may = narrow.iter().filter(|(_, tool)| wide.may_do(tool));
    let candidates = may.map(|&(at, tool)| Part { at, tool, shared: wide.shared(tool) });
    // A tool that has mostly parameters of its own is about something else.
    let alike: Vec<Part<'_>> =
        candidates.filter(|p| p.shared.count_ones() as usize * 2 >= p.tool.parameters.len()).collect();
    if alike.len() < 2 {
        return Vec::new();
    }
    let all = wide.parameters.iter().fold(0, |bits, parameter| bits | wide.bit(*parameter));
    let together = |some: &[&Part<'_>]| some.iter().fold(0, |bits, part| bits | part.shared);
    let listed = |some: &[&Part<'_>]| some.iter().map(|part| part.at).collect();
    // One parameter says which of them is meant.
    for (choice, values) in &wide.choices {
        let named: Vec<_> = alike.iter().filter(|p| values.iter().any(|value| p.tool.does(value))).collect();
        let others = all & !wide.bit(*choice);
        let covered = together(&named) & others;
        if named.len() >= 2 && covered.count_ones() * 2 >= others.count_ones() {
            return listed(&named);
        }
    }
    // One that lists what it does, and nothing of that, has said that it does something else.
    if wide.choices.iter().any(|(choice, _)| wide.action == Some(*choice)) {
        return Vec::new();
    }
    let alike: Vec<&Part<'_>> = alike.iter().filter(|p| p.shared != 0).collect();
    // Some parameter may say it without a list, and each has nothing that the whole has not.
    let own = |p: &&&Part<'_>| p.shared.count_ones() as usize == p.tool.parameters.len();
    let inside: Vec<_> = alike.iter().filter(own).copied().collect();
    if inside.len() >= 2
        && let Some(action) = wide.action
        && all & !together(&inside) == wide.bit(action)
    {
        return listed(&inside);
    }
    // Or each has a share of the parameters beside those that all have, and only together they have the whole.
    let common = alike.iter().fold(all, |bits, part| bits & part.shared);
    let sharing: Vec<_> = alike.into_iter().filter(|p| p.shared != common).collect();
    if sharing.len() >= 2 && together(&sharing) == all && sharing.iter().all(|p| p.shared != all) {
        listed(&sharing)
    } else {
        Vec::new()
    }
}

/// The added tools by schema and by name.
struct Names {
    by_schema: HashMap<Vec<u8>, Vec<usize>>,
    /// Names in one style, in order, each with its tool.
    sorted: Vec<(String, usize)>,
}

impl Names {
    fn of(added: &[&Contract]) -> Self {
        let mut by_schema: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        let mut sorted = Vec::new();
        for (j, tool) in added.iter().enumerate() {
            by_schema.entry(schema(tool)).or_default().push(j);
            if tool.name.len() <= MAX_NAME {
                sorted.push((plain(&tool.name), j));
            }
        }
        sorted.sort();
        Self { by_schema, sorted }
    }

    /// The added tool with the same arguments, and whether its name says the same and something more or less. Where the
    /// name does not, it has to be the only one, and to have a word of the name or arguments that not every tool takes.
    fn same_schema(&self, gone: &Contract, outline: &Outline, come: &[Outline]) -> Option<(usize, bool)> {
        let alike = self.by_schema.get(&schema(gone))?;
        let named = alike.iter().take(MAX_PARTS).find(|j| {
            let (a, b) = (outline, &come[**j]);
            !a.words.is_empty()
                && !b.words.is_empty()
                && (a.words.iter().all(|w| b.has(*w)) || b.words.iter().all(|w| a.has(*w)))
        });
        match (named, alike.as_slice()) {
            (Some(j), _) => Some((*j, true)),
            (None, [only]) if outline.distinct || outline.shares_a_word(&come[*only]) => Some((*only, false)),
            (None, _) => None,
        }
    }

    /// The added tool whose name differs in style, or in a small part at its end only.
    fn close(&self, name: &str) -> Option<usize> {
        if name.len() > MAX_NAME {
            return None;
        }
        let name = plain(name);
        let shared = |other: &str| name.chars().zip(other.chars()).take_while(|(x, y)| x == y).count();
        // What begins most alike stands beside it.
        let at = self.sorted.partition_point(|(other, _)| *other < name);
        let beside = self.sorted[at.saturating_sub(1)..].iter().take(2);
        beside
            .filter(|(other, _)| {
                let longest = name.chars().count().max(other.chars().count());
                longest > 0 && shared(other) * 4 >= longest * 3
            })
            .max_by_key(|(other, _)| shared(other))
            .map(|(_, j)| *j)
    }
}

fn schema(tool: &Contract) -> Vec<u8> {
    tool.normal().get("inputSchema").map(json::canonical).unwrap_or_default()
}

/// A name without style: `perPage` and `per_page` are one.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

/// Whether one name says what the other does and no less, in words that may be cut short: `repo` and `repositoryName`. A
/// word in common is not enough, for `maxItems` and `maxDepth` have one.
pub(super) fn are_related(one: &str, other: &str) -> bool {
    /// Letters of a word that is cut short and still known.
    const SHORTEST: usize = 3;
    let begins = |a: &String, b: &String| a.chars().count() >= SHORTEST && b.starts_with(a.as_str());
    let says = |of: &[String], all: &[String]| {
        !all.is_empty() && all.iter().all(|a| of.iter().any(|b| a == b || begins(a, b) || begins(b, a)))
    };
    let (one, other) = (words(one), words(other));
    says(&one, &other) || says(&other, &one)
}

/// The words of a name, lower case and singular: `listSub_Issues` is `list sub issue`. None where it is too long.
fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    if name.len() > MAX_NAME {
        return out;
    }
    let mut last = ' ';
    for c in name.chars() {
        let begins = !last.is_alphanumeric() || last.is_lowercase() && c.is_uppercase();
        if c.is_alphanumeric() {
            match out.last_mut() {
                Some(word) if !begins => word.extend(c.to_lowercase()),
                _ => out.push(c.to_lowercase().collect()),
            }
        }
        last = c;
    }
    // A name of more words is no name, and every word is held against others.
    out.iter().take(MAX_WORDS).map(|word| singular(word)).collect()
}

fn singular(word: &str) -> String {
    let cut = |end: &str, instead: &str| word.strip_suffix(end).map(|stem| format!("{stem}{instead}"));
    match word {
        _ if word.len() <= 3 || ["ss", "us", "is"].iter().any(|end| word.ends_with(end)) => None,
        _ if word.ends_with("ies") => cut("ies", "y"),
        _ if ["ches", "shes", "xes", "sses"].iter().any(|end| word.ends_with(end)) => cut("es", ""),
        _ => cut("s", ""),
    }
    .unwrap_or_else(|| word.to_owned())
}

/// Parameters that say what a tool shall do, where their schema does not list it.
const ACTIONS: [&str; 6] = ["action", "command", "method", "mode", "op", "operation"];

/// Words that say of no action what it is.
const ANYTHING: [&str; 7] = ["do", "execute", "handle", "manage", "perform", "read", "write"];

/// Words for looking at something: servers change them for one another.
const READS: [&str; 11] =
    ["describe", "fetch", "find", "get", "list", "lookup", "query", "read", "retrieve", "search", "show"];
