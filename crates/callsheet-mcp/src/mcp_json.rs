//! Reads `.mcp.json`, the file in which projects name their servers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::settings::{Reach, ServerAddress, ServerProgram, ServerSettings};

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpJson {
    /// The servers, sorted by name. Variables are not replaced yet.
    pub servers: Vec<ServerSettings>,
    /// Tells a person what cannot be used, and why.
    pub faults: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenFile {
    Usual {
        #[serde(rename = "mcpServers")]
        servers: BTreeMap<String, Value>,
    },
    OfEditors {
        servers: BTreeMap<String, Value>,
    },
}

#[derive(Deserialize)]
struct WrittenServer {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Reads the text of a file. Reports what cannot be used, and keeps the rest.
pub fn read_mcp_json(text: &str) -> McpJson {
    let mut read = McpJson::default();
    let servers = match serde_json::from_str::<Value>(text) {
        Ok(value) => match WrittenFile::deserialize(&value) {
            Ok(WrittenFile::Usual { servers } | WrittenFile::OfEditors { servers }) => servers,
            Err(_) => {
                read.faults.push("it has no object `mcpServers`".to_owned());
                return read;
            }
        },
        Err(error) => {
            read.faults.push(format!("it is not valid JSON: {error}"));
            return read;
        }
    };
    for (name, value) in servers {
        match WrittenServer::deserialize(&value).map_err(|error| error.to_string()).and_then(reach) {
            Ok(Some(reach)) => read.servers.push(ServerSettings::new(&name, reach)),
            Ok(None) => {}
            Err(why) => read.faults.push(format!("the server `{name}` can't be used: {why}")),
        }
    }
    read
}

/// How a server is reached. `None` if it is disabled.
fn reach(written: WrittenServer) -> Result<Option<Reach>, String> {
    if written.disabled {
        return Ok(None);
    }
    match (written.kind.as_deref(), written.command, written.url) {
        (None | Some("stdio"), Some(command), None) => Ok(Some(Reach::Program(ServerProgram {
            command,
            args: written.args,
            variables: written.env,
            folder: written.cwd,
        }))),
        (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url)) => {
            Ok(Some(Reach::Address(ServerAddress { url, headers: written.headers, ..ServerAddress::default() })))
        }
        (Some("sse"), ..) => Err("its type `sse` is outdated; use the server's address for streamable HTTP".to_owned()),
        _ => Err("it needs either a `command` or a `url`; its `type` can be `stdio` or `http`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_common_forms_are_read() {
        let read = read_mcp_json(
            r#"{"mcpServers": {
                "memory": {"command": "npx", "args": ["-y", "m"], "env": {"A": "${B}"}},
                "tracker": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${T}"}},
                "old": {"type": "sse", "url": "https://example.org/sse"},
                "off": {"command": "x", "disabled": true},
                "both": {"command": "x", "url": "y"}
            }}"#,
        );
        let names: Vec<&str> = read.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["memory", "tracker"]);
        assert_eq!(read.servers[0].reach.named_variables(), ["B"]);
        assert_eq!(read.faults.len(), 2, "{:?}", read.faults);
        assert_eq!(read_mcp_json(r#"{"servers": {"a": {"command": "b"}}}"#).servers.len(), 1);
        for broken in ["", "[]", "{", "{\"mcpServers\": 3}", "null"] {
            assert_eq!(read_mcp_json(broken).faults.len(), 1, "{broken}");
        }
        assert_eq!(read_mcp_json(r#"{"mcpServers": {"a": 3, "b": {"command": "c", "args": "d"}}}"#).faults.len(), 2);
    }
}
