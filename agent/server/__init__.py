"""Both graphs over HTTP and MCP: the application, middleware, errors, readiness, tenants, quotas and metrics."""
