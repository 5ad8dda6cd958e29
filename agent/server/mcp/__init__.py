"""Model Context Protocol: tools, resources and prompts over stdio and HTTP. Requires the extra `mcp`."""
