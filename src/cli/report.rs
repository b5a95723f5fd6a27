//! `--report FORMAT=PATH`: where a gate's answer is written beside standard output.

use std::{fs::OpenOptions, io::Write, str::FromStr};

use clap::ValueEnum;

use super::render::{
    gate::{Form, Told, write},
    text::Style,
};
use crate::app::{AppError, Kind};

/// One report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    /// What it is written as.
    pub(super) form: Form,
    /// Where; `-` is standard output.
    pub(super) path: String,
}

impl FromStr for Report {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (form, path) =
            text.split_once('=').ok_or("expected FORMAT=PATH, for example md=summary.md; `-` is stdout")?;
        let form = Form::from_str(form, false).map_err(|_| {
            let known: Vec<String> = Form::value_variants()
                .iter()
                .filter_map(|form| Some(form.to_possible_value()?.get_name().to_owned()))
                .collect();
            format!("`{form}` is no format of reports; known: {}", known.join(", "))
        })?;
        if path.is_empty() {
            return Err("the path is empty; `-` is stdout".to_owned());
        }
        Ok(Self { form, path: path.to_owned() })
    }
}

impl Report {
    pub(super) fn is_to_stdout(&self) -> bool {
        self.path == "-"
    }

    /// Writes it. What others write to as well (a step's summary on GitHub) is added to.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub(super) fn write(&self, told: &Told) -> Result<(), AppError> {
        let text = write(told, self.form, Style::plain())?;
        let shared = std::env::var_os("GITHUB_STEP_SUMMARY").is_some_and(|path| path == *self.path);
        let mut options = OpenOptions::new();
        options.create(true);
        if shared {
            options.append(true)
        } else {
            options.write(true).truncate(true)
        };
        options.open(&self.path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| {
            AppError::new(
                Kind::Unavailable,
                "unwritable-file",
                format!("report `{}` cannot be written: {e}", self.path),
            )
            .help("see that its folder is there and can be written to")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_format_and_a_path() {
        let report = |text: &str| text.parse::<Report>().map(|r| (r.form, r.path));
        assert_eq!(report("md=a=b.md"), Ok((Form::Md, "a=b.md".to_owned())));
        assert_eq!(report("junit=-"), Ok((Form::Junit, "-".to_owned())));
        for bad in ["md", "md=", "pdf=x", "=x"] {
            assert!(report(bad).is_err(), "{bad}");
        }
    }
}
