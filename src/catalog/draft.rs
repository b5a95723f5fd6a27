//! From snapshots to a draft: which members, which contractVersions.
