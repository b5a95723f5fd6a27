//! Signing what is decided, and handing it on with what proves it.
//!
//! Where a key is configured, a version and a move are signed in the transaction that writes them: there is none of them
//! without a signature from then on. The key never leaves this process, and nothing shows it.

use super::{App, AppError, Kind};
use crate::{
    catalog::{
        CatalogVersion, Event, Move, Version,
        bundle::{Bundle, BundledTool, Proved},
        sign::{Envelope, InvalidKey, PublicKey, SigningKey, Statement as _},
        statement::{MoveStatement, Seal, Sealed, VersionStatement},
    },
    json::Digest,
    name::{CatalogName, EnvironmentName},
    store::Signed,
};

/// The most events that a bundle holds: whoever opens it reads them all.
const MOST_EVENTS: usize = 100_000;

impl App {
    /// The same, signing what it decides.
    #[must_use]
    pub fn signing_with(self, key: Option<SigningKey>) -> Self {
        Self { signing: key, ..self }
    }

    /// What is signed with the event of a version.
    pub(super) fn seal_version(&self, version: &Version) -> Option<Seal> {
        let said = |key| Seal { key, said: Sealed::Version(VersionStatement::of(version)) };
        self.signing.clone().map(said)
    }

    /// What is signed with the event of a move to a version of this digest.
    pub(super) fn seal_move(&self, order: &Move, digest: &Digest) -> Option<Seal> {
        let said = |key| Seal { key, said: Sealed::Move(MoveStatement::of(order, digest)) };
        self.signing.clone().map(said)
    }

    /// What was signed of a version; nothing where no key was configured then.
    ///
    /// # Errors
    /// Where the catalog or the version does not exist.
    pub async fn version_signatures(
        &self,
        catalog: &CatalogName,
        version: CatalogVersion,
    ) -> Result<Vec<Signed>, AppError> {
        self.version(catalog, version).await?;
        Ok(self.store.signatures(&VersionStatement::name_of(catalog, version)).await?)
    }

    /// What was signed of the move that brought a pointer to this generation; nothing where no key was configured then.
    ///
    /// # Errors
    /// Where the store fails. A move that was never made has no signature either.
    pub async fn move_signatures(
        &self,
        environment: &EnvironmentName,
        catalog: &CatalogName,
        generation: i64,
    ) -> Result<Vec<Signed>, AppError> {
        Ok(self.store.signatures(&MoveStatement::name_of(environment, catalog, generation)).await?)
    }

    /// What was signed of the moves that brought the pointers of an environment where they are, by catalog.
    ///
    /// # Errors
    /// Where nothing was ever live there.
    pub async fn pointer_signatures(
        &self,
        environment: &EnvironmentName,
        catalog: Option<&CatalogName>,
    ) -> Result<Vec<Signed>, AppError> {
        let mut signed = Vec::new();
        for pointer in self.pointers_of(environment).await? {
            if catalog.is_none_or(|catalog| *catalog == pointer.catalog) {
                signed.extend(self.move_signatures(environment, &pointer.catalog, pointer.generation).await?);
            }
        }
        Ok(signed)
    }

    /// Where the chain stands now, signed with a key.
    ///
    /// # Errors
    /// As for [`Self::checkpoint`].
    pub async fn signed_checkpoint(&self, key: &SigningKey) -> Result<Envelope, AppError> {
        Ok(self.checkpoint().await?.signed(key))
    }

    /// A version, the newest where none is named, with all that proves it. Where a key is configured the log goes on to
    /// a checkpoint of now, otherwise it ends with the event of the version.
    ///
    /// # Errors
    /// Where the version does not exist or was not signed, or the chain is broken.
    pub async fn bundle(
        &self,
        catalog: &CatalogName,
        number: Option<CatalogVersion>,
    ) -> Result<Bundle, AppError> {
        let version = match number {
            Some(number) => self.version(catalog, number).await?,
            None => {
                self.known_catalog(catalog).await?;
                let newest = self.store.latest_version(catalog).await?;
                newest.ok_or_else(|| no_version(catalog))?
            }
        };
        let signed = self.version_signatures(catalog, version.version).await?;
        let Some(first) = signed.first().map(|s| s.seq) else {
            return Err(unsigned(catalog, version.version));
        };
        let mut bundle = Bundle::new(version, Vec::new(), signed.into_iter().map(|s| s.envelope).collect());
        bundle.contracts = self.bundled_tools(&bundle.version).await?;
        bundle.moves = self.moves_to(&bundle.version).await?;
        let last = match &self.signing {
            None => first,
            Some(key) => {
                let checkpoint = self.checkpoint().await?;
                bundle.checkpoint = Some(checkpoint.signed(key));
                checkpoint.seq
            }
        };
        bundle.events = self.events_between(first, last).await?;
        Ok(bundle)
    }

    async fn bundled_tools(&self, version: &Version) -> Result<Vec<BundledTool>, AppError> {
        let releases = self.releases_of(&version.content).await?;
        let tools = releases.iter().flat_map(|release| {
            release.contracts.iter().map(|contract| BundledTool {
                server: release.pin.server.clone(),
                tool: contract.name.clone(),
                raw: contract.text().to_owned(),
            })
        });
        Ok(tools.collect())
    }

    async fn moves_to(&self, version: &Version) -> Result<Vec<Envelope>, AppError> {
        let mut envelopes = Vec::new();
        for pointer in self.store.pointers().await?.into_iter().filter(|p| p.catalog == version.catalog) {
            let history =
                self.store.moves(&pointer.environment, Some(&version.catalog), None, usize::MAX).await?;
            for order in history.into_iter().filter(|order| order.to == version.version) {
                let signed =
                    self.move_signatures(&order.environment, &order.catalog, order.generation).await?;
                envelopes.extend(signed.into_iter().map(|s| s.envelope));
            }
        }
        Ok(envelopes)
    }

    async fn events_between(&self, first: i64, last: i64) -> Result<Vec<Event>, AppError> {
        let count = usize::try_from(last - first + 1).unwrap_or(0);
        if count > MOST_EVENTS {
            let message =
                format!("{count} events lie between the version and now; a bundle holds {MOST_EVENTS}");
            return Err(AppError::new(Kind::Blocked, "bundle-too-long", message)
                .help("leave the signing key out: the log then ends with the event of the version, which its signature names"));
        }
        Ok(self.store.events_after(first - 1, count).await?)
    }
}

/// A key that nobody had before.
///
/// # Errors
/// Where the machine gives no randomness.
pub fn new_key() -> Result<SigningKey, AppError> {
    Ok(SigningKey::of_seed(&super::access::random()?))
}

/// Reads a key, secret or public, from the text of a file.
///
/// # Errors
/// Where it is none.
pub fn read_key<K: std::str::FromStr<Err = InvalidKey>>(label: &str, text: &str) -> Result<K, AppError> {
    text.parse().map_err(|e: InvalidKey| {
        AppError::new(Kind::Invalid, "invalid-key", format!("`{label}`: {e}"))
            .help("`toolpact key new FILE` makes a key, `toolpact key public FILE` writes its public half")
    })
}

/// Holds a bundle against what these keys signed.
///
/// # Errors
/// The first part that is not what was signed.
pub fn verify_bundle(label: &str, text: &str, keys: &[PublicKey]) -> Result<(Bundle, Proved), AppError> {
    Bundle::verified(text, keys).map_err(|e| {
        AppError::new(Kind::Blocked, "bundle-unproved", format!("`{label}` is not what was signed: {e}"))
            .help("get the file again from where it was exported, and the public key from whom you trust")
    })
}

fn unsigned(catalog: &CatalogName, version: CatalogVersion) -> AppError {
    let message = format!("version {version} of catalog `{catalog}` was not signed");
    AppError::new(Kind::Conflict, "unsigned", message)
        .help("versions are signed when they are approved or imported, with `--signing-key FILE`")
}

fn no_version(catalog: &CatalogName) -> AppError {
    let message = format!("catalog `{catalog}` has no version");
    AppError::new(Kind::NotFound, "unknown-version", message).help("approve a draft first")
}
