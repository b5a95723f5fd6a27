//! Who may do what: kinds of callers, roles, rights and scopes. One table, and no exception to it.
//!
//! A caller has a *kind* (what it is), *roles* (what it was given) and a *scope* (where). A right is a caller's where its kind
//! may ever have it, one of its roles gives it, and the object lies within its scope. Nothing is allowed that no row of
//! [`Right::ALL`] allows.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod token;

use std::{collections::BTreeSet, fmt};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::name::{CatalogName, EnvironmentName, TeamName};

/// What a caller is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallerKind {
    /// A person, by a token of their own or signed in.
    Human,
    /// A pipeline. It may make drafts and take an environment back; it never approves and never promotes.
    Ci,
    /// A program that acts on a model's word. It may look and make drafts.
    Agent,
}

impl CallerKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Human, Self::Ci, Self::Agent];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Ci => "ci",
            Self::Agent => "agent",
        }
    }
}

/// Whose doing something is: a pipeline or an agent of somebody is that person's hand (`ci:ann` is `ann`'s).
#[must_use]
pub fn person(actor: &str) -> &str {
    ["ci:", "agent:"].iter().find_map(|kind| actor.strip_prefix(kind)).unwrap_or(actor)
}

impl fmt::Display for CallerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a caller was given. Every role may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Looks.
    Viewer,
    /// Makes and edits drafts.
    Author,
    /// Decides on changes, approves and rejects.
    Reviewer,
    /// Promotes, rolls back, freezes.
    Operator,
    /// Everything, policies, tokens and teams included.
    Admin,
}

impl Role {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 5] = [Self::Viewer, Self::Author, Self::Reviewer, Self::Operator, Self::Admin];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Author => "author",
            Self::Reviewer => "reviewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that can be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// Look at servers, catalogs, environments and the history; judge lists that are sent.
    Read,
    /// Make and edit drafts, and comment.
    Draft,
    /// Decide on changes, approve and reject.
    Review,
    /// Open what agents see: promote, release a hold, end a freeze.
    Promote,
    /// Take back what agents see: roll back, freeze.
    RollBack,
    /// Say how catalogs are judged, and which servers are asked.
    Configure,
    /// Give and take tokens, teams and webhooks.
    Administer,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Draft,
        Self::Review,
        Self::Promote,
        Self::RollBack,
        Self::Configure,
        Self::Administer,
    ];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Draft => "draft",
            Self::Review => "review",
            Self::Promote => "promote",
            Self::RollBack => "roll-back",
            Self::Configure => "configure",
            Self::Administer => "administer",
        }
    }

    /// The table, first half: who is given the right.
    #[must_use]
    pub const fn roles(self) -> &'static [Role] {
        use Role::{Admin, Author, Operator, Reviewer, Viewer};
        match self {
            Self::Read => &[Viewer, Author, Reviewer, Operator, Admin],
            Self::Draft => &[Author, Reviewer, Admin],
            Self::Review => &[Reviewer, Admin],
            Self::Promote | Self::RollBack => &[Operator, Admin],
            Self::Configure | Self::Administer => &[Admin],
        }
    }

    /// The table, second half: what may ever have the right, whatever its roles.
    #[must_use]
    pub const fn kinds(self) -> &'static [CallerKind] {
        use CallerKind::{Agent, Ci, Human};
        match self {
            Self::Read | Self::Draft => &[Human, Ci, Agent],
            Self::RollBack => &[Human, Ci],
            Self::Review | Self::Promote | Self::Configure | Self::Administer => &[Human],
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a caller's rights hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// The catalogs; all where there is no list.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub catalogs: Option<BTreeSet<CatalogName>>,
    /// The environments; all where there is no list.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub environments: Option<BTreeSet<EnvironmentName>>,
}

impl Scope {
    /// Whether there is nothing outside of it.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.catalogs.is_none() && self.environments.is_none()
    }

    /// Whether it holds all that the other does.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        fn within<T: Ord>(outer: Option<&BTreeSet<T>>, inner: Option<&BTreeSet<T>>) -> bool {
            outer.is_none_or(|outer| inner.is_some_and(|inner| inner.is_subset(outer)))
        }
        within(self.catalogs.as_ref(), other.catalogs.as_ref())
            && within(self.environments.as_ref(), other.environments.as_ref())
    }
}

/// What something is done to, as far as scopes tell it apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Object<'o> {
    /// The catalog, where it is one's.
    pub catalog: Option<&'o CatalogName>,
    /// The environment, where it is one's.
    pub environment: Option<&'o EnvironmentName>,
}

impl<'o> Object<'o> {
    /// One catalog, wherever it is live.
    #[must_use]
    pub fn catalog(catalog: &'o CatalogName) -> Self {
        Self { catalog: Some(catalog), environment: None }
    }
}

/// How a caller showed who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// They can open the database.
    Local,
    /// By the token of this id.
    Token(String),
    /// Signed in with the token of this id.
    Session(String),
    /// Signed in through the issuer.
    Oidc(String),
    /// Signed in by a link that this process printed.
    Link,
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Token(id) => write!(f, "token:{id}"),
            Self::Session(id) => write!(f, "session:{id}"),
            Self::Oidc(issuer) => write!(f, "oidc:{issuer}"),
            Self::Link => f.write_str("link"),
        }
    }
}

/// Who calls, and what they may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// As the history shows it.
    pub name: String,
    /// What it is.
    pub kind: CallerKind,
    /// What it was given.
    pub roles: BTreeSet<Role>,
    /// Where.
    pub scope: Scope,
    /// How that is known.
    pub auth: Auth,
    /// For whom it says that it acts; a claim that proves nothing.
    pub on_behalf_of: Option<String>,
    /// When what it showed is good no more, where that has an end.
    pub until: Option<DateTime<Utc>>,
}

impl Caller {
    /// Whoever can open the database themselves: they may do all of it in any case, so nothing is asked of them.
    #[must_use]
    pub fn local(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: CallerKind::Human,
            roles: BTreeSet::from([Role::Admin]),
            scope: Scope::default(),
            auth: Auth::Local,
            on_behalf_of: None,
            until: None,
        }
    }

    /// Why the caller may not do this to that.
    ///
    /// # Errors
    /// The first thing that stands in the way.
    pub fn may(&self, right: Right, object: Object<'_>) -> Result<(), Refusal> {
        self.has(right)?;
        fn outside<'o, T: Ord>(scope: Option<&BTreeSet<T>>, object: Option<&'o T>) -> Option<&'o T> {
            object.filter(|object| scope.is_some_and(|scope| !scope.contains(object)))
        }
        if let Some(catalog) = outside(self.scope.catalogs.as_ref(), object.catalog) {
            return Err(self.refusal(right, Lacks::Catalog(catalog.clone())));
        }
        if let Some(environment) = outside(self.scope.environments.as_ref(), object.environment) {
            return Err(self.refusal(right, Lacks::Environment(environment.clone())));
        }
        Ok(())
    }

    /// Why the caller may not do this anywhere.
    ///
    /// # Errors
    /// Where its kind never has the right, or none of its roles gives it.
    pub fn has(&self, right: Right) -> Result<(), Refusal> {
        if !right.kinds().contains(&self.kind) {
            return Err(self.refusal(right, Lacks::Kind));
        }
        if !right.roles().iter().any(|role| self.roles.contains(role)) {
            return Err(self.refusal(right, Lacks::Role));
        }
        Ok(())
    }

    /// The refusal of what spans more than the caller's scope.
    #[must_use]
    pub fn beyond_scope(&self, right: Right) -> Refusal {
        self.refusal(right, Lacks::Everything)
    }

    fn refusal(&self, right: Right, lacks: Lacks) -> Refusal {
        Refusal { caller: self.name.clone(), kind: self.kind, right, lacks }
    }
}

/// That a caller may not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{caller}` may not {right}: {}", self.why())]
pub struct Refusal {
    /// Who.
    pub caller: String,
    /// What it is.
    pub kind: CallerKind,
    /// What.
    pub right: Right,
    /// What is missing.
    pub lacks: Lacks,
}

/// What a caller lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lacks {
    /// Being another kind of caller.
    Kind,
    /// A role.
    Role,
    /// The catalog in its scope.
    Catalog(CatalogName),
    /// The environment in its scope.
    Environment(EnvironmentName),
    /// A scope without bounds: what is asked for is about all catalogs, or all environments.
    Everything,
    /// Membership in the team that owns the catalog.
    Team(TeamName),
}

impl Refusal {
    /// The code of problems.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.lacks {
            Lacks::Kind => "kind-forbidden",
            Lacks::Role => "role-needed",
            Lacks::Catalog(_) | Lacks::Environment(_) | Lacks::Everything => "out-of-scope",
            Lacks::Team(_) => "team-needed",
        }
    }

    fn why(&self) -> String {
        match &self.lacks {
            Lacks::Kind => format!("callers of kind `{}` never do", self.kind),
            Lacks::Role => "none of its roles allows it".to_owned(),
            Lacks::Catalog(catalog) => format!("catalog `{catalog}` is not in its scope"),
            Lacks::Environment(environment) => format!("environment `{environment}` is not in its scope"),
            Lacks::Everything => "that reaches beyond its scope".to_owned(),
            Lacks::Team(team) => format!("team `{team}` owns it"),
        }
    }

    /// The next step.
    #[must_use]
    pub fn help(&self) -> String {
        let any = |names: Vec<&str>| names.join(" or ");
        match &self.lacks {
            Lacks::Kind => {
                let kinds = self.right.kinds().iter().map(|kind| kind.as_str()).collect();
                format!("ask somebody with a token of kind {}", any(kinds))
            }
            Lacks::Role => {
                let roles = self.right.roles().iter().map(|role| role.as_str()).collect();
                format!("ask an admin for the role {}", any(roles))
            }
            Lacks::Catalog(_) | Lacks::Environment(_) => {
                "ask an admin for a token whose scope holds it".to_owned()
            }
            Lacks::Everything => {
                "ask for one catalog or environment of the scope, or an admin for a token without bounds"
                    .to_owned()
            }
            Lacks::Team(_) => "ask somebody of the team, or an admin to add you to it".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(kind: CallerKind, roles: &[Role]) -> Caller {
        Caller { kind, roles: roles.iter().copied().collect(), ..Caller::local("x") }
    }

    #[test]
    fn the_table_says_who_may_what() {
        let mut table = String::new();
        for right in Right::ALL {
            table += &format!("{right}:");
            for kind in CallerKind::ALL {
                let roles: Vec<_> = Role::ALL
                    .into_iter()
                    .filter(|role| caller(kind, &[*role]).has(right).is_ok())
                    .map(Role::as_str)
                    .collect();
                table +=
                    &format!(" {kind}={}", if roles.is_empty() { "-".to_owned() } else { roles.join("+") });
            }
            table += "\n";
        }
        assert_eq!(
            table,
            "read: human=viewer+author+reviewer+operator+admin ci=viewer+author+reviewer+operator+admin \
             agent=viewer+author+reviewer+operator+admin\n\
             draft: human=author+reviewer+admin ci=author+reviewer+admin agent=author+reviewer+admin\n\
             review: human=reviewer+admin ci=- agent=-\n\
             promote: human=operator+admin ci=- agent=-\n\
             roll-back: human=operator+admin ci=operator+admin agent=-\n\
             configure: human=admin ci=- agent=-\n\
             administer: human=admin ci=- agent=-\n"
        );
    }

    #[test]
    fn a_caller_without_roles_may_nothing() {
        for kind in CallerKind::ALL {
            for right in Right::ALL {
                assert!(caller(kind, &[]).has(right).is_err(), "{kind} {right}");
            }
        }
    }

    #[test]
    fn a_scope_is_where_rights_end() {
        let [shop, other]: [CatalogName; 2] = ["shop", "other"].map(|n| n.parse().expect("a name"));
        let [dev, production]: [EnvironmentName; 2] =
            ["dev", "production"].map(|n| n.parse().expect("a name"));
        let scope = Scope {
            catalogs: Some(BTreeSet::from([shop.clone()])),
            environments: Some(BTreeSet::from([dev.clone()])),
        };
        let bounded = Caller { scope: scope.clone(), ..Caller::local("x") };
        let may = |catalog, environment| bounded.may(Right::Promote, Object { catalog, environment }).is_ok();
        assert!(may(Some(&shop), Some(&dev)) && may(Some(&shop), None) && may(None, Some(&dev)));
        assert!(!may(Some(&other), Some(&dev)) && !may(Some(&shop), Some(&production)));
        assert!(Scope::default().covers(&scope) && scope.covers(&scope) && !scope.covers(&Scope::default()));
    }
}
