//! A command line as it may be shown and kept: the values of arguments whose names say that they are secret are left
//! out, and so are the user info and query of URLs.
//!
//! Names tell, values do not: a secret that stands alone is shown as it stands. Secrets belong into files, into the
//! server's own settings, or into variables that a registered server refers to.

use super::http::without_secrets;
use crate::secret;

/// What stands for a value that is left out.
const HIDDEN: &str = "…";

/// The program and its arguments in one line.
pub(super) fn shown(program: &str, args: &[String]) -> String {
    let mut line = program.to_owned();
    let mut hidden = false;
    for arg in args {
        line.push(' ');
        // A flag takes no other flag for its value.
        if std::mem::take(&mut hidden) && !arg.starts_with("--") {
            line.push_str(HIDDEN);
            continue;
        }
        hidden = arg.starts_with('-') && !arg.contains(['=', ':']) && secret::is_named(arg);
        line.push_str(&word(arg));
    }
    line
}

/// One argument: `NAME=VALUE`, `NAME: VALUE`, or something that stands alone.
fn word(arg: &str) -> String {
    let url = arg.find("://");
    match arg.find(['=', ':']).filter(|at| url.is_none_or(|url| *at < url)) {
        Some(at) => {
            let (name, value) = arg.split_at(at + 1);
            let space = if value.starts_with(' ') { " " } else { "" };
            if secret::is_named(name) {
                format!("{name}{space}{HIDDEN}")
            } else {
                format!("{name}{}", if url.is_some() { without_secrets(value) } else { value.to_owned() })
            }
        }
        None if url.is_some() => without_secrets(arg),
        None => arg.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_command_is_shown_without_what_its_names_call_secret() {
        for (args, expected) in [
            ("-y|@scope/server|/data", "-y @scope/server /data"),
            ("--api-key|hidden|--verbose", "--api-key … --verbose"),
            ("--auth|--verbose", "--auth --verbose"),
            ("--token=hidden|--port=1", "--token=… --port=1"),
            ("-e|GITHUB_TOKEN=hidden|-e|MODE=fast", "-e GITHUB_TOKEN=… -e MODE=fast"),
            ("--header|Authorization: Bearer hidden", "--header Authorization: …"),
            ("--apiKey|hidden", "--apiKey …"),
            ("--keyboard|us", "--keyboard us"),
            ("C:\\tools\\server.js", "C:\\tools\\server.js"),
            ("postgres://user:hidden@host/db?password=hidden", "postgres://host/db"),
            ("--db=postgres://user:hidden@host/db", "--db=postgres://host/db"),
            ("https://example.com/mcp", "https://example.com/mcp"),
            ("SECRET_URL=https://hidden", "SECRET_URL=…"),
        ] {
            let args: Vec<String> = args.split('|').map(str::to_owned).collect();
            assert_eq!(shown("npx", &args), format!("npx {expected}"));
        }
    }
}
