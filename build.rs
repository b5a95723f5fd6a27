//! Migrations are compiled in: a new file must rebuild the crate.
fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=templates");
}
