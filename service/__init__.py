"""Every way in: command line, and later HTTP, chat-ops, MCP."""
