//! What the references of a server say: variables, files, and commands that print a secret.
//!
//! Files are read and commands run only when a server is asked, once each, and never by a shell. What they say is kept no
//! longer than that, and stands in no error.

use std::{collections::BTreeMap, io::Read, time::Duration};

use tokio::time::timeout;

use super::Variables;
use crate::{
    app::{AppError, Kind},
    catalog::{
        ServerSpec,
        server::{Reference, Symbolic},
    },
    mcp::credential,
};

/// The longest secret that is read; keys and certificates have a few thousand bytes.
const MAX_BYTES: usize = 64 << 10;
/// How long a file or a command may take to say what it says. A password manager asks its own service.
const MAX_TIME: Duration = Duration::from_secs(10);

/// What a server's files and commands say, and where its variables are found.
pub(super) struct Said<'a> {
    acted: BTreeMap<Reference<'a>, String>,
    variables: &'a Variables,
}

impl<'a> Said<'a> {
    /// Reads the files and runs the commands that a spec refers to.
    ///
    /// # Errors
    /// The first that says nothing; the server, the reference and the cause, and never what it said.
    pub(super) async fn of(spec: &'a ServerSpec, variables: &'a Variables) -> Result<Self, AppError> {
        let mut acted = BTreeMap::new();
        for reference in spec.references() {
            let said = match reference {
                Reference::Variable(_) => continue,
                Reference::File(path) => file(path).await,
                Reference::Command(line) => command(line).await,
            };
            let value = said.and_then(secret).map_err(|silent| silent.told(spec, reference))?;
            acted.insert(reference, value);
        }
        Ok(Self { acted, variables })
    }

    /// What a reference says.
    pub(super) fn value(&self, reference: Reference<'_>) -> Option<String> {
        match reference {
            Reference::Variable(name) => (self.variables)(name),
            Reference::File(_) | Reference::Command(_) => self.acted.get(&reference).cloned(),
        }
    }
}

/// What a text says that may hold references.
///
/// # Errors
/// Why it says nothing: the reference and the cause, and never what another said.
pub(in crate::app) async fn said(text: &Symbolic, variables: &Variables) -> Result<String, String> {
    let mut acted = BTreeMap::new();
    for reference in text.references() {
        let said = match reference {
            Reference::Variable(_) => continue,
            Reference::File(path) => file(path).await,
            Reference::Command(line) => command(line).await,
        };
        let value = said.and_then(secret).map_err(|silent| format!("`{reference}` {}", silent.cause))?;
        acted.insert(reference, value);
    }
    text.resolve(|reference| Said { acted: acted.clone(), variables }.value(reference))
        .map_err(|error| error.to_string())
}

/// Why a reference says nothing.
struct Silent {
    kind: Kind,
    cause: String,
    help: &'static str,
}

impl Silent {
    fn new(kind: Kind, cause: impl Into<String>, help: &'static str) -> Self {
        Self { kind, cause: cause.into(), help }
    }

    fn told(self, spec: &ServerSpec, reference: Reference<'_>) -> AppError {
        let message = format!("server `{}` cannot be asked: `{reference}` {}", spec.name, self.cause);
        AppError::new(self.kind, "unresolved-reference", message).help(self.help)
    }
}

/// The whole of a file.
async fn file(path: &str) -> Result<Vec<u8>, Silent> {
    let refuse = |cause: String| {
        Silent::new(Kind::Invalid, cause, "let toolpact read that file, or name another, and ask again")
    };
    if !path.starts_with('/') {
        return Err(refuse("is no absolute path, and means another file in every folder".to_owned()));
    }
    let owned = path.to_owned();
    let read = timeout(MAX_TIME, tokio::task::spawn_blocking(move || read(&owned))).await;
    match read {
        Ok(Ok(Ok(bytes))) if bytes.len() > MAX_BYTES => {
            Err(refuse(format!("has more than {MAX_BYTES} bytes, which is no secret")))
        }
        Ok(Ok(Ok(bytes))) => Ok(bytes),
        Ok(Ok(Err(error))) => Err(refuse(format!("cannot be read: {error}"))),
        Ok(Err(_)) => Err(refuse("could not be read".to_owned())),
        Err(_) => Err(refuse(format!("could not be read within {MAX_TIME:?}"))),
    }
}

fn read(path: &str) -> std::io::Result<Vec<u8>> {
    // A pipe or a device may never end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What a command prints.
async fn command(line: &str) -> Result<Vec<u8>, Silent> {
    let words = shlex::split(line).filter(|words| !words.is_empty());
    let Some((program, args)) = words.as_deref().and_then(<[String]>::split_first) else {
        let cause = "has a quotation that does not end, or no words";
        return Err(Silent::new(Kind::Invalid, cause, "write a program and its words, quoted as in a shell"));
    };
    credential::printed(program, args, MAX_BYTES, MAX_TIME).await.map_err(|error| {
        let help = "run that command by hand to see what it says, and ask again";
        Silent::new(Kind::Unavailable, error.to_string(), help)
    })
}

/// A secret as it is used: a text without the newline that ends every line.
fn secret(bytes: Vec<u8>) -> Result<String, Silent> {
    let refuse = |cause| Silent::new(Kind::Invalid, cause, "see whether it is the right one, and ask again");
    // The error would quote the bytes.
    let mut text = String::from_utf8(bytes).map_err(|_| refuse("says what is no text in UTF-8"))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() { Err(refuse("says nothing")) } else { Ok(text) }
}
