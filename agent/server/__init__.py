"""Both graphs over HTTP and MCP: the application, middleware, errors, tenants, quotas and metrics."""
