//! What the documents say of the command line is true.

use std::path::Path;

use super::PASSED;
use crate::command::User;

#[test]
fn the_five_minutes_of_the_readme_are_true() {
    let readme = include_str!("../../../README.md");
    let block = readme.split("```sh\n").nth(1).and_then(|b| b.split("```").next()).expect("it has a story");
    // Every command ends as the text says: with 0, or as in `# exits 1`.
    let mut script = "toolpact() { \"$TOOLPACT\" \"$@\"; }\n".to_owned();
    for line in block.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
        let (command, expected) = line.split_once("# exits ").unwrap_or((line, "0"));
        script.push_str(&format!(
            "{command}\ncode=$?; [ $code = {expected} ] || {{ echo \"exit $code instead of {expected}: \"'{command}' >&2; exit 9; }}\n"
        ));
    }
    let user = User::new();
    let path = user.file("story.sh", script.replace("-- toolpact", "-- \"$TOOLPACT\""));
    let output = std::process::Command::new("bash")
        .arg(path)
        .env_clear()
        .envs([("PATH", std::env::var_os("PATH").unwrap_or_default())])
        .envs([("HOME", user.home().as_os_str()), ("USER", "ann".as_ref())])
        .env("TOOLPACT", env!("CARGO_BIN_EXE_toolpact"))
        .output()
        .expect("bash starts");
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn every_command_that_is_advised_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("templates")];
    let mut texts = vec![
        include_str!("../../../README.md").to_owned(),
        include_str!("../../../CONTRIBUTING.md").to_owned(),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                texts.push(text);
            }
        }
    }
    let mut advised: Vec<&str> = texts
        .iter()
        .flat_map(|t| t.split("`toolpact ").skip(1))
        .map(|rest| rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default())
        .filter(|word| !word.is_empty())
        .collect();
    advised.sort_unstable();
    advised.dedup();
    assert!(advised.len() > 5, "{advised:?}");
    let user = User::new();
    for command in advised {
        user.run(&[command, "--help"]).code(PASSED);
    }
}
