//! The form of a policy: one field a word, `e:NAME:` before those of an environment.

use crate::{
    app::{AppError, Kind},
    catalog::{
        Catalog, EnvironmentPolicy, Policy,
        policy::{Against, Direction, Probe},
    },
    diff::{Assumption, Formats, Level},
    json::Digest,
    name::{EnvironmentName, InvalidName},
};

pub(super) const LEVELS: [Level; 4] = [Level::Breaking, Level::Undecided, Level::Risky, Level::Compatible];
pub(super) const ASSUMPTIONS: [Assumption; 2] = [Assumption::Declared, Assumption::Strict];
pub(super) const FORMATS: [Formats; 3] = [Formats::Risky, Formats::Assert, Formats::Annotate];
pub(super) const DIRECTIONS: [Direction; 3] = [Direction::Full, Direction::Input, Direction::Output];
pub(super) const AGAINST: [Against; 3] = [Against::Latest, Against::SinceMajor, Against::EverLive];
pub(super) const PROBES: [Probe; 3] = [Probe::Require, Probe::Record, Probe::Skip];

/// The most people, tools and days that a policy can speak of; documents say the same.
const MOST: u32 = 100_000;

/// What a form sent.
pub(super) struct Fields(pub(super) Vec<(String, String)>);

impl Fields {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was seen when the form was made.
    pub(super) fn seen(&self) -> Result<Digest, AppError> {
        self.word("seen").unwrap_or_default().parse().map_err(|_| {
            AppError::new(Kind::Invalid, "invalid-request", "the form does not say what its sender saw")
                .help("load the page again and send what stands there")
        })
    }

    /// The settings that the form says, of a catalog that stands so. Its servers are no business of this form.
    pub(super) fn settings(&self, now: &Catalog) -> Result<Catalog, AppError> {
        let mut settings = now.clone();
        settings.policy = Policy {
            assume: self.chosen("assume", &ASSUMPTIONS, |a| a.as_str())?.unwrap_or_default(),
            formats: self.chosen("formats", &FORMATS, |f| f.as_str())?.unwrap_or_default(),
            fail_on: self.levels("failOn", &now.policy.fail_on),
            compatibility: self.chosen("compatibility", &DIRECTIONS, |d| d.as_str())?.unwrap_or_default(),
            against: self.chosen("against", &AGAINST, |a| a.as_str())?.unwrap_or_default(),
            approvals: self.count("approvals")?.unwrap_or(0),
            max_tools: self.count("maxTools")?,
            deprecation_days: self.count("deprecationDays")?,
        };
        for (name, demands) in &now.environments {
            let at = |field: &str| format!("e:{name}:{field}");
            // One that the form does not speak of stays as it is; one that is crossed out goes.
            if self.word(&at("there")).is_none() {
                continue;
            }
            if self.word(&at("remove")).is_some() {
                settings.environments.remove(name);
                continue;
            }
            let own = self.word(&at("own")).is_some();
            let demands = EnvironmentPolicy {
                after: self.name(&at("after"))?,
                assume: self.chosen(&at("assume"), &ASSUMPTIONS, |a| a.as_str())?,
                formats: self.chosen(&at("formats"), &FORMATS, |f| f.as_str())?,
                fail_on: own
                    .then(|| self.levels(&at("failOn"), demands.fail_on.as_deref().unwrap_or_default())),
                rollback_fail_on: self.levels(&at("rollbackFailOn"), &demands.rollback_fail_on),
                compatibility: self.chosen(&at("compatibility"), &DIRECTIONS, |d| d.as_str())?,
                against: self.chosen(&at("against"), &AGAINST, |a| a.as_str())?,
                approvals: self.count(&at("approvals"))?,
                max_tools: self.count(&at("maxTools"))?,
                deprecation_days: self.count(&at("deprecationDays"))?,
                probe: self.chosen(&at("probe"), &PROBES, |p| p.as_str())?.unwrap_or_default(),
                servers: demands.servers.clone(),
            };
            settings.environments.insert(name.clone(), demands);
        }
        if let Some(name) = self.name("new")? {
            let after = self.name("newAfter")?;
            let demands = EnvironmentPolicy { after, ..EnvironmentPolicy::default() };
            settings.environments.entry(name).or_insert(demands);
        }
        Ok(settings)
    }

    /// A field's text, where it is not empty.
    fn word(&self, field: &str) -> Option<&str> {
        let found = self.0.iter().find(|(name, _)| name == field).map(|(_, text)| text.trim());
        found.filter(|text| !text.is_empty())
    }

    fn name(&self, field: &str) -> Result<Option<EnvironmentName>, AppError> {
        let parsed = self.word(field).map(str::parse).transpose();
        parsed.map_err(|e: InvalidName| AppError::new(Kind::Invalid, "invalid-name", e.to_string()))
    }

    fn chosen<T: Copy>(
        &self,
        field: &str,
        words: &[T],
        said: impl Fn(&T) -> &'static str,
    ) -> Result<Option<T>, AppError> {
        let Some(text) = self.word(field) else { return Ok(None) };
        let found = words.iter().find(|word| said(word) == text).copied();
        found.map(Some).ok_or_else(|| invalid(format!("`{field}` cannot be `{text}`")))
    }

    fn count(&self, field: &str) -> Result<Option<u32>, AppError> {
        let Some(text) = self.word(field) else { return Ok(None) };
        let count = text.parse().ok().filter(|count| *count <= MOST);
        count.map(Some).ok_or_else(|| invalid(format!("`{field}` is a number up to {MOST}, not `{text}`")))
    }

    /// The levels that are ticked, in the order in which they stood where they are the same.
    fn levels(&self, field: &str, before: &[Level]) -> Vec<Level> {
        let ticked =
            |level: &Level| self.0.iter().any(|(name, text)| name == field && text == level.as_str());
        let levels: Vec<Level> = LEVELS.into_iter().filter(ticked).collect();
        let same = levels.len() == before.len() && before.iter().all(|level| levels.contains(level));
        if same { before.to_vec() } else { levels }
    }
}

fn invalid(message: String) -> AppError {
    AppError::new(Kind::Invalid, "invalid-request", message)
}
