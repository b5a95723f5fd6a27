"""A server on the Python SDK, 1.x or 2.x: `served.py TRANSPORT [PORT]`."""

import sys

try:
    from mcp.server.fastmcp import FastMCP as Server
except ImportError:
    from mcp.server.mcpserver import MCPServer as Server

transport = sys.argv[1]
where = {} if transport == "stdio" else {"port": int(sys.argv[2])}
server = Server("served")


@server.tool()
def add(a: int, b: int = 0) -> int:
    """Adds two numbers: 1 + 1 → 2."""
    return a + b


@server.tool()
def find(text: str, kinds: list[str] | None = None) -> list[dict[str, float]]:
    """Finds what holds the text."""
    return []


@server.prompt()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Greet {name}."


@server.resource("notes://all")
def notes() -> str:
    """Every note."""
    return ""


@server.resource("notes://{day}")
def notes_of(day: str) -> str:
    """The notes of a day."""
    return day


if hasattr(server, "settings") and hasattr(server.settings, "port"):
    # 1.x has its port among the settings.
    server.settings.port = where.get("port", server.settings.port)
    where = {}
server.run(transport=transport, **where)
