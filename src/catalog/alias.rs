//! The names under which hosts show a tool to a model: each host has a rule of its own, and none of them keeps names
//! apart that its rule makes one.
//!
//! Derived, never stored: the raw name is the tool's. Rules are those of the hosts' own source, read on the dates below.

use std::collections::BTreeMap;

use serde::Serialize;

/// What model APIs allow a function's name to have. Whoever sends a longer one is refused, with all its other tools.
pub const MODEL_LIMIT: usize = 64;
/// Where Gemini CLI begins to cut; one less than the API's limit, for safety as it says.
const GEMINI_LIMIT: usize = 63;
/// What Gemini CLI keeps of either end.
const GEMINI_KEPT: usize = 30;

/// A host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AliasHost {
    /// AgentScope Python 2.0.11, `tool/_adapters.py`. The Java one shows the raw name.
    Agentscope,
    /// Claude Code.
    ClaudeCode,
    /// Gemini CLI of 2026-08-21, `mcp-tool.ts`, `generateValidName`.
    GeminiCli,
    /// Spring AI of 2026-08-21, `McpToolUtils.format` as the default name generator calls it.
    SpringAi,
}

impl AliasHost {
    /// Every host, in the order of [`ToolAliases::names`].
    pub const ALL: [Self; 4] = [Self::Agentscope, Self::ClaudeCode, Self::GeminiCli, Self::SpringAi];

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agentscope => "agentscope",
            Self::ClaudeCode => "claude-code",
            Self::GeminiCli => "gemini-cli",
            Self::SpringAi => "spring-ai",
        }
    }

    /// The name that this host gives to a server's tool.
    #[must_use]
    pub fn name(self, server: &str, tool: &str) -> String {
        match self {
            // The server's name is not changed: one with other characters is refused.
            Self::Agentscope => format!("mcp__{server}__{}", replaced(tool, "", |_| "x".to_owned())),
            Self::ClaudeCode => {
                format!("mcp__{}__{}", replaced(server, "", underscores), replaced(tool, "", underscores))
            }
            Self::GeminiCli => {
                let name = format!("{server}_{tool}");
                let name = if name.starts_with("mcp_") { name } else { format!("mcp_{name}") };
                let name = replaced(&name, ".:", underscores);
                if name.len() <= GEMINI_LIMIT {
                    return name;
                }
                // Only ASCII is left, so bytes are letters.
                format!("{}...{}", &name[..GEMINI_KEPT], &name[name.len() - GEMINI_KEPT..])
            }
            Self::SpringAi => {
                let kept = |c: char| if is_han(c) { c.to_string() } else { String::new() };
                replaced(tool, "", kept).replace('-', "_")
            }
        }
    }

    /// What is wrong with the name that this host gives, by itself.
    fn fault(self, server: &str, tool: &str, name: &str) -> Option<String> {
        let length = name.chars().count();
        match self {
            Self::Agentscope if !server.chars().all(is_plain) => Some(format!(
                "refuses the server's name `{server}`: it may have letters, digits, `_` and `-`"
            )),
            Self::GeminiCli if GEMINI_LIMIT < untouched_length(server, tool) => {
                Some(format!("cuts the name to `{name}`, because it has more than {GEMINI_LIMIT} characters"))
            }
            Self::SpringAi if name.is_empty() => Some("has no name for it: no character is left".to_owned()),
            Self::Agentscope | Self::ClaudeCode | Self::GeminiCli | Self::SpringAi
                if length > MODEL_LIMIT =>
            {
                Some(format!(
                    "calls it `{name}`, which has {length} characters; models are given at most {MODEL_LIMIT}"
                ))
            }
            Self::Agentscope | Self::ClaudeCode | Self::GeminiCli | Self::SpringAi => None,
        }
    }

    /// What this host does with two tools of one name.
    fn collision(self) -> &'static str {
        match self {
            Self::Agentscope => "the later one replaces the other",
            Self::ClaudeCode | Self::GeminiCli => "one of them cannot be called",
            Self::SpringAi => "the later one becomes `alt_1_…`, so names depend on the order",
        }
    }
}

/// A tool's names under every host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolAliases {
    /// The server.
    pub server: String,
    /// The tool, as its server calls it.
    pub tool: String,
    /// The names, by host.
    pub names: BTreeMap<AliasHost, String>,
    /// What is wrong with them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// A name that a host cannot use, or not for this tool alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The host.
    pub host: AliasHost,
    /// What it does; begins with a verb, for which the host is the subject.
    pub message: String,
}

/// The names of these tools, each a server and a tool, where one host has all of them.
#[must_use]
pub fn of(tools: &[(&str, &str)]) -> Vec<ToolAliases> {
    let mut all: Vec<ToolAliases> = tools
        .iter()
        .map(|(server, tool)| {
            let names = AliasHost::ALL.map(|host| (host, host.name(server, tool)));
            let faults = names.iter().filter_map(|(host, name)| {
                Some(Warning { host: *host, message: host.fault(server, tool, name)? })
            });
            ToolAliases {
                server: (*server).to_owned(),
                tool: (*tool).to_owned(),
                warnings: faults.collect(),
                names: BTreeMap::from(names.clone()),
            }
        })
        .collect();
    for host in AliasHost::ALL {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, tool) in all.iter().enumerate() {
            by_name.entry(&tool.names[&host]).or_default().push(index);
        }
        // A name that its server lists twice is a finding of its own.
        let differ = |a: usize, b: usize| (&all[a].server, &all[a].tool) != (&all[b].server, &all[b].tool);
        let mut found = Vec::new();
        for (name, sharing) in by_name.iter().filter(|(name, sharing)| !name.is_empty() && sharing.len() > 1)
        {
            for &index in sharing {
                let others = sharing.iter().filter(|&&other| differ(index, other));
                let others: Vec<String> = others
                    .map(|&other| format!("`{}` of `{}`", all[other].tool, all[other].server))
                    .collect();
                if !others.is_empty() {
                    let (with, does) = (others.join(", "), host.collision());
                    found.push((index, format!("calls it `{name}`, and {with} too: {does}")));
                }
            }
        }
        for (index, message) in found {
            all[index].warnings.push(Warning { host, message });
        }
    }
    all
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// A text whose characters beside letters, digits, `_`, `-` and `more` are replaced.
fn replaced(text: &str, more: &str, by: impl Fn(char) -> String) -> String {
    text.chars().map(|c| if is_plain(c) || more.contains(c) { c.to_string() } else { by(c) }).collect()
}

/// JavaScript replaces UTF-16 units, of which a character has one or two.
fn underscores(c: char) -> String {
    "_".repeat(c.len_utf16())
}

/// The length that a name has before Gemini CLI cuts it.
fn untouched_length(server: &str, tool: &str) -> usize {
    let name = format!("{server}_{tool}");
    let prefix = if name.starts_with("mcp_") { 0 } else { "mcp_".len() };
    prefix + name.chars().map(char::len_utf16).sum::<usize>()
}

/// The Han script and the blocks of CJK ideographs that Spring AI keeps.
fn is_han(c: char) -> bool {
    matches!(c,
        '\u{2e80}'..='\u{2fd5}' | '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303b}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{16fe2}'..='\u{16ff1}' | '\u{20000}'..='\u{2fa1f}' | '\u{30000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_own_name_for_a_tool() {
        let long = "a".repeat(60);
        let cut = format!("mcp_s_{}...{}", "a".repeat(24), "a".repeat(30));
        for (server, tool, expected) in [
            ("git", "log", ["mcp__git__log", "mcp__git__log", "mcp_git_log", "log"]),
            (
                "my.git",
                "admin/list all",
                [
                    "mcp__my.git__adminxlistxall",
                    "mcp__my_git__admin_list_all",
                    "mcp_my.git_admin_list_all",
                    "adminlistall",
                ],
            ),
            ("mcp_x", "a-b.c:d", ["mcp__mcp_x__a-bxcxd", "mcp__mcp_x__a-b_c_d", "mcp_x_a-b.c:d", "a_bcd"]),
            ("s", "查询é", ["mcp__s__xxx", "mcp__s_____", "mcp_s____", "查询"]),
            ("s", "😀", ["mcp__s__x", "mcp__s____", "mcp_s___", ""]),
            ("s", &long, [&format!("mcp__s__{long}"), &format!("mcp__s__{long}"), &cut, &long]),
        ] {
            let names = AliasHost::ALL.map(|host| host.name(server, tool));
            assert_eq!(names, expected.map(str::to_owned), "{server} {tool}");
        }
    }

    #[test]
    fn what_a_host_cannot_use_is_said() {
        let (fits, over) = ("a".repeat(56), "a".repeat(57));
        let told = |tools: &[(&str, &str)]| -> Vec<String> {
            let all = of(tools);
            let warnings = all.iter().flat_map(|t| t.warnings.iter().map(move |w| (t, w)));
            warnings.map(|(t, w)| format!("{}: {} {}", t.tool, w.host.as_str(), w.message)).collect()
        };
        for (tools, expected) in [
            (&[("git", "log"), ("hub", "find")] as &[(&str, &str)], &[] as &[&str]),
            (
                &[("git", "log"), ("hub", "log")],
                &[
                    "log: spring-ai calls it `log`, and `log` of `hub` too: the later one becomes `alt_1_…`, so names depend on the order",
                    "log: spring-ai calls it `log`, and `log` of `git` too: the later one becomes `alt_1_…`, so names depend on the order",
                ],
            ),
            (
                &[("a", "b_c"), ("a_b", "c")],
                &[
                    "b_c: gemini-cli calls it `mcp_a_b_c`, and `c` of `a_b` too: one of them cannot be called",
                    "c: gemini-cli calls it `mcp_a_b_c`, and `b_c` of `a` too: one of them cannot be called",
                ],
            ),
            (&[("s", "t"), ("s", "t")], &[]),
            (
                &[("my.git", "log")],
                &[
                    "log: agentscope refuses the server's name `my.git`: it may have letters, digits, `_` and `-`",
                ],
            ),
            (&[("s", "é")], &["é: spring-ai has no name for it: no character is left"]),
        ] {
            assert_eq!(told(tools), expected, "{tools:?}");
        }
        assert_eq!(told(&[("s", &fits)]).len(), 0, "64 characters under the longest rule");
        let over = told(&[("s", &over)]);
        assert_eq!(over.len(), 2, "{over:?}");
        assert!(over[0].ends_with("which has 65 characters; models are given at most 64"), "{over:?}");
    }
}
