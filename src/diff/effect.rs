//! The one place where the direction of a surface is applied to what a change does to a set of values.

use super::finding::{Level, Surface};

/// What a change does to the set of values that a schema accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The same set.
    Same,
    /// The same set, with another meaning (a changed default).
    Shifted,
    /// Fewer values.
    Narrowed,
    /// More values.
    Widened,
    /// Some went, some came.
    Moved,
    /// Not known from the change alone; containment has to say.
    Unknown,
}

impl Effect {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Shifted => "shifted",
            Self::Narrowed => "narrowed",
            Self::Widened => "widened",
            Self::Moved => "moved",
            Self::Unknown => "unknown",
        }
    }
}

/// How bad an effect is on a surface. Callers *send* input: what the candidate no longer accepts breaks them. They
/// *read* output: what the baseline did not admit breaks them.
#[must_use]
pub fn level(surface: Surface, effect: Effect) -> Level {
    match (effect, surface) {
        (Effect::Same, _) => Level::Compatible,
        (Effect::Shifted, Surface::Input) => Level::Risky,
        (Effect::Shifted, _) => Level::Compatible,
        (Effect::Narrowed, Surface::Output) => Level::Compatible,
        (Effect::Widened, Surface::Output) => Level::Breaking,
        (Effect::Narrowed, _) => Level::Breaking,
        (Effect::Widened, _) => Level::Compatible,
        (Effect::Moved, _) => Level::Breaking,
        (Effect::Unknown, _) => Level::Undecided,
    }
}
