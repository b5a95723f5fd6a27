//! Answers as text for people and as JSON for programs; the words are the same in both.

pub(super) mod gate;
pub(super) mod json;
pub(super) mod safe;
pub(super) mod text;

/// The forms an answer can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}
