"""The client under test of the conformance suite: `conformance.py TOOLPACT DATABASE URL`.

Records what the server at URL lists. toolpact calls no tool; where the suite wants a schema echoed by a call, the text that
toolpact recorded is sent from here.
"""

import json
import subprocess
import sys
import urllib.request

toolpact, database, url = sys.argv[1:]


def run(*args):
    return subprocess.run([toolpact, "--database", database, *args], check=True, capture_output=True, text=True).stdout


def post(message, headers):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        answer.read()
        return answer.headers.get("Mcp-Session-Id")


run("snapshot", "suite", "--url", url)
tools = {tool["name"]: tool for tool in json.loads(run("tools", "suite@latest"))["tools"]}
if "json_schema_echo" in tools:
    version = "2025-11-25"
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "echo", "version": "1"}}
    session = post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}, {})
    headers = {"MCP-Protocol-Version": version, **({"Mcp-Session-Id": session} if session else {})}
    schema = tools["json_schema_2020_12_tool"]["inputSchema"]
    call = {"name": "json_schema_echo", "arguments": {"schema": schema}}
    post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
    post({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, headers)
