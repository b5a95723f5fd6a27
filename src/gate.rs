//! What a gate in CI judges with: the lockfile, the settings of a repository, and what they make of a report.
//!
//! Last of the pure core. A gate has a baseline from somewhere (a lockfile, a file, the service) and a policy from
//! somewhere (`toolpact.yaml`, a catalog); here they meet. Files are read and servers asked elsewhere, and the day is an
//! argument.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod declared;
pub mod judge;
pub mod lock;
pub mod policy;
pub mod settings;
pub mod waiver;

pub use declared::{Declared, VersionCheck};
pub use judge::{Blocked, Grounds, Judgement, Standing, judge, judged_elsewhere};
pub use lock::{Lock, LockError, LockedServer, LockedTool};
pub use policy::Policy;
pub use settings::Settings;
pub use waiver::Waiver;
