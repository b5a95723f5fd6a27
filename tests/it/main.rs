//! One binary; each `mod` line says what belongs in it.

/// The raw MCP client against servers that behave, misbehave and die; and the demo server.
mod mcp;
