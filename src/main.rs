//! Parses arguments, runs a command, maps its outcome to an exit code.
fn main() {}
