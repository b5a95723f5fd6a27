//! The rules, in the order in which they are asked and published. To add one: two files and one line here.

use super::rule::Rule;
pub use super::rule::{Check, Remark, SCHEMA, Tools};

macro_rules! rules {
    ($($name:ident)*) => {
        $(pub mod $name;)*
        static RULES: &[&Rule] = &[$(&$name::RULE),*];
    };
}

rules! {
    tool_removed tool_added duplicate_tool_name invalid_schema
    required_added required_removed property_added property_removed
    type_changed enum_value_removed enum_value_added
    bound_tightened bound_loosened pattern_changed format_changed
    additional_properties_closed additional_properties_opened additional_properties_changed
    items_changed composition_changed constraint_changed default_changed
    header_changed invalid_header
    output_schema_added output_schema_removed
    hint_weakened hint_strengthened task_support_changed
    description_changed presentation_changed metadata_changed notation_changed
    unexplained_change undecided_change
}

/// Every rule.
#[must_use]
pub fn all() -> &'static [&'static Rule] {
    RULES
}

/// The rule of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|r| r.id == id)
}
