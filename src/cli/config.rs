//! The configuration of `serve`: a flag, a variable, a file and a default, in this order; and `config print`, which says what
//! came from where.
//!
//! A file has the long flags as its keys, so that there is one list of settings and one description of each. What it says is
//! handed to the parser of the command line, which checks it like a flag.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fmt::{self, Write},
    fs,
    path::{Path, PathBuf},
};

use clap::{ArgAction, ArgMatches, Command, CommandFactory as _, FromArgMatches as _, parser::ValueSource};
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_yaml as yaml;

use super::{Answer, Cli, render::safe};
use crate::{
    app::{AppError, Kind, Place},
    catalog::suggest::did_you_mean,
};

/// Read where no other file is named.
const USUAL: &str = "/etc/toolpact/toolpact.yaml";
/// The variable that names another.
const VARIABLE: &str = "TOOLPACT_CONFIG";
/// The longest file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// What no file says: what is asked of one run alone.
const NOT_IN_FILES: [&str; 5] = ["config", "demo", "help", "version", "verbose"];
/// Settings that may stand in a file of their own, because they hold a secret.
const SECRETS: [&str; 1] = ["database"];

/// Show what `serve` is set to, and where each value comes from.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Print every setting with its value and where that comes from. Secrets are never printed.
    Print {
        /// The file to read.
        #[arg(long, value_name = "FILE", env = VARIABLE)]
        config: Option<PathBuf>,
        /// Leave secrets out. They are left out without this as well.
        #[arg(long)]
        redacted: bool,
    },
}

/// What a file says: the values of each key.
type Said = BTreeMap<String, Vec<String>>;

/// The arguments of a `serve`, with what the file says of what neither they nor variables say.
///
/// # Errors
/// Where the file cannot be read, or says what no flag could.
pub(super) fn with_file(args: &[OsString], file: Option<&Path>) -> Result<Option<Cli>, AppError> {
    let Some((path, said)) = read(file)? else { return Ok(None) };
    let parse = |args: &[OsString]| Cli::command().try_get_matches_from(args);
    let matches = parse(args).map_err(|e| invalid(&path, &e.to_string()))?;
    let serve = matches.subcommand_matches("serve").unwrap_or(&matches);
    let mut all = args.to_vec();
    for (key, values) in said {
        if !is_said(serve, &key) {
            all.extend(flags(&key, &values));
        }
    }
    let parsed = parse(&all).and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map(Some).map_err(|e| invalid(&path, e.to_string().trim_start_matches("error: ")))
}

/// What a variable's file says, where the variable itself says nothing: `TOOLPACT_DATABASE_FILE`.
///
/// # Errors
/// Where both say something, or the file cannot be read.
pub(super) fn secret(variable: &str) -> Result<Option<OsString>, AppError> {
    let named = format!("{variable}_FILE");
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    let Some(path) = set(&named) else { return Ok(None) };
    if set(variable).is_some() {
        let message = format!("both `{variable}` and `{named}` are set");
        return Err(AppError::new(Kind::Invalid, "invalid-config", message).help("keep one of them"));
    }
    Ok(Some(line_of(Path::new(&path), &format!("`{named}`"))?.into()))
}

/// The text of a file that holds one secret.
fn line_of(path: &Path, named_by: &str) -> Result<String, AppError> {
    let refused = |cause: String| {
        let message = format!("the file `{}` that {named_by} names {cause}", path.display());
        AppError::new(Kind::Invalid, "invalid-config", message).help("let toolpact read it, or name another")
    };
    let text = fs::read_to_string(path).map_err(|e| refused(format!("cannot be read: {e}")))?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() { Err(refused("says nothing".to_owned())) } else { Ok(text.to_owned()) }
}

pub(super) fn run(args: &Args) -> Result<Answer, AppError> {
    let What::Print { config, redacted: _ } = &args.command;
    let file = read(config.as_deref())?;
    // As if `serve` were started now, with nothing said on the command line.
    let bare = [OsString::from("toolpact"), "serve".into()];
    let matches = Cli::command()
        .try_get_matches_from(&bare)
        .map_err(|e| AppError::new(Kind::Invalid, "invalid-config", e.to_string()))?;
    let serve = matches.subcommand_matches("serve").unwrap_or(&matches);
    if let Some((path, said)) = &file {
        let all: Vec<OsString> =
            bare.iter().cloned().chain(said.iter().flat_map(|(key, values)| flags(key, values))).collect();
        Cli::command().try_get_matches_from(all).map_err(|e| invalid(path, &e.to_string()))?;
    }
    let mut out = String::new();
    for (key, id) in settings(&Cli::command()) {
        let (value, from) = value(&key, &id, serve, file.as_ref())?;
        _ = writeln!(out, "{key:<16} {:<40} {from}", safe::word(&value));
    }
    Ok(out.into())
}

/// The value of a setting as it may be shown, and where it comes from.
fn value(
    key: &str,
    id: &str,
    serve: &ArgMatches,
    file: Option<&(PathBuf, Said)>,
) -> Result<(String, String), AppError> {
    let of = |values: Vec<String>| {
        let values =
            values.iter().map(|v| if SECRETS.contains(&key) { without_password(v) } else { v.clone() });
        values.collect::<Vec<_>>().join(", ")
    };
    let given = || -> Vec<String> {
        serve
            .get_raw(id)
            .map(|values| values.map(|v| v.to_string_lossy().into_owned()).collect())
            .unwrap_or_default()
    };
    let variable = format!("TOOLPACT_{}", key.replace('-', "_").to_ascii_uppercase());
    if is_said(serve, key) {
        return Ok((of(given()), format!("variable {variable}")));
    }
    if SECRETS.contains(&key)
        && let Some(secret) = secret(&variable)?
    {
        return Ok((of(vec![secret.to_string_lossy().into_owned()]), format!("variable {variable}_FILE")));
    }
    if let Some((path, said)) = file
        && let Some(values) = said.get(key)
    {
        return Ok((of(values.clone()), format!("file {}", path.display())));
    }
    Ok((of(given()), "default".to_owned()))
}

/// A database as it may be shown.
fn without_password(text: &str) -> String {
    text.parse::<Place>().map_or_else(|_| "…".to_owned(), |place| place.to_string())
}

/// Whether a flag or a variable says it.
fn is_said(serve: &ArgMatches, key: &str) -> bool {
    let source = settings(&Cli::command()).get(key).and_then(|id| serve.value_source(id));
    matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
}

/// The settings of `serve` by their long flag, each with its id.
fn settings(command: &Command) -> BTreeMap<String, String> {
    let own = command.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
    let global = command.get_arguments().filter(|arg| arg.is_global_set());
    own.chain(global)
        .filter_map(|arg| Some((arg.get_long()?.to_owned(), arg.get_id().to_string())))
        .filter(|(long, _)| !NOT_IN_FILES.contains(&long.as_str()))
        .collect()
}

/// A key and its values as flags.
fn flags(key: &str, values: &[String]) -> Vec<OsString> {
    let is_switch = {
        let command = Cli::command();
        let serve = command.find_subcommand("serve").into_iter().flat_map(Command::get_arguments);
        serve
            .into_iter()
            .any(|arg| arg.get_long() == Some(key) && matches!(arg.get_action(), ArgAction::SetTrue))
    };
    let flag = |value: &String| match (is_switch, value.as_str()) {
        (true, "true") => Some(format!("--{key}").into()),
        (true, "false") => None,
        // Of a switch, the parser says that it takes no value.
        _ => Some(format!("--{key}={value}").into()),
    };
    values.iter().filter_map(flag).collect()
}

/// What the file says that was named, or the usual one where it is there.
fn read(named: Option<&Path>) -> Result<Option<(PathBuf, Said)>, AppError> {
    let path = match named {
        Some(path) => path.to_owned(),
        None if Path::new(USUAL).is_file() => USUAL.into(),
        None => return Ok(None),
    };
    let unreadable = |cause: String| {
        AppError::new(
            Kind::Invalid,
            "invalid-config",
            format!("the configuration `{}` cannot be read: {cause}", path.display()),
        )
        .help("name another with `--config FILE`, or let toolpact read it")
    };
    let size = fs::metadata(&path).map_err(|e| unreadable(e.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(unreadable(format!("it has more than {MAX_BYTES} bytes")));
    }
    let text = fs::read_to_string(&path).map_err(|e| unreadable(e.to_string()))?;
    let mut said = parsed(&text).map_err(|e| invalid(&path, &e))?;
    for key in SECRETS {
        if let Some(values) = said.remove(&format!("{key}-file")) {
            if said.contains_key(key) {
                return Err(invalid(&path, &format!("both `{key}` and `{key}-file` stand there")));
            }
            let file = values.first().map(String::as_str).unwrap_or_default();
            said.insert(key.to_owned(), vec![line_of(Path::new(file), &format!("`{key}-file`"))?]);
        }
    }
    Ok(Some((path, said)))
}

fn parsed(text: &str) -> Result<Said, String> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Said::new());
    }
    let known: Vec<String> = settings(&Cli::command())
        .into_keys()
        .chain(SECRETS.iter().map(|key| format!("{key}-file")))
        .collect();
    let keys = Keys(&known);
    keys.deserialize(yaml::Deserializer::from_str(text)).map_err(|e| match e.location() {
        // The message says the place as well, in its own words.
        Some(at) => {
            let said = e.to_string();
            let cause = said.split(" at line ").next().unwrap_or(&said);
            format!("{}:{}: {cause}", at.line(), at.column())
        }
        None => e.to_string(),
    })
}

fn invalid(path: &Path, cause: &str) -> AppError {
    let cause = cause.trim().trim_start_matches("error: ").lines().next().unwrap_or_default();
    // A place follows the file at once, as compilers write it.
    let colon = if cause.starts_with(|c: char| c.is_ascii_digit()) { ":" } else { ": " };
    AppError::new(Kind::Invalid, "invalid-config", format!("{}{colon}{cause}", path.display()))
        .help("`toolpact serve --help` describes every setting; a file has the same names without the hyphens before them")
}

/// A map whose keys are settings.
struct Keys<'a>(&'a [String]);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = Said;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Said, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = Said;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings, each `name: value`")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said, A::Error> {
        let mut said = Said::new();
        while let Some(key) = map.next_key_seed(Key(self.0, &said))? {
            let Values(values) = map.next_value()?;
            said.insert(key, values);
        }
        Ok(said)
    }
}

/// A key that is a setting and was not said yet. Refused here, because an error gets the place of what is being read.
struct Key<'a>(&'a [String], &'a Said);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<String, D::Error> {
        d.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = String;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }
    fn visit_str<E: de::Error>(self, key: &str) -> Result<String, E> {
        if self.1.contains_key(key) {
            return Err(E::custom(format!("`{key}` stands there twice")));
        }
        if !self.0.iter().any(|known| known == key) {
            let hint = did_you_mean(key, self.0.iter().map(String::as_str));
            return Err(E::custom(format!("`{key}` is no setting{hint}")));
        }
        Ok(key.to_owned())
    }
}

/// One value or several, as text.
struct Values(Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Values;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false, or a list of them")
            }
            fn visit_bool<E>(self, b: bool) -> Result<Values, E> {
                Ok(Values(vec![b.to_string()]))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Values, E> {
                Ok(Values(vec![n.to_string()]))
            }
            fn visit_i64<E>(self, n: i64) -> Result<Values, E> {
                Ok(Values(vec![n.to_string()]))
            }
            fn visit_str<E>(self, text: &str) -> Result<Values, E> {
                Ok(Values(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Values, A::Error> {
                let mut all = Vec::new();
                while let Some(Values(mut values)) = items.next_element()? {
                    all.append(&mut values);
                }
                Ok(Values(all))
            }
        }
        d.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::parsed;

    #[test]
    fn a_file_says_settings_and_nothing_else() {
        for (text, expected) in [
            ("", Ok(vec![])),
            ("# nothing\n\n", Ok(vec![])),
            ("listen: 127.0.0.1:7878\n", Ok(vec![("listen", vec!["127.0.0.1:7878"])])),
            (
                "no-poll: true\nallow-network: [10.0.0.0/8, 127.0.0.0/8]\npoll-lease: 5\n",
                Ok(vec![
                    ("allow-network", vec!["10.0.0.0/8", "127.0.0.0/8"]),
                    ("no-poll", vec!["true"]),
                    ("poll-lease", vec!["5"]),
                ]),
            ),
            ("no-poll: true\nlisen: x\n", Err("2:1: `lisen` is no setting; did you mean `listen`?")),
            ("demo: true\n", Err("1:1: `demo` is no setting")),
            ("listen: a\nlisten: b\n", Err("2:1: `listen` stands there twice")),
        ] {
            let said = parsed(text);
            let said = said.as_ref().map(|said| {
                said.iter()
                    .map(|(key, values)| (key.as_str(), values.iter().map(String::as_str).collect()))
                    .collect::<Vec<(&str, Vec<&str>)>>()
            });
            match (said, expected) {
                (Ok(said), Ok(expected)) => assert_eq!(said, expected, "{text}"),
                (Err(said), Err(expected)) => assert!(said.ends_with(expected), "{text}: {said}"),
                (said, expected) => panic!("{text}: {said:?}, not {expected:?}"),
            }
        }
    }
}
