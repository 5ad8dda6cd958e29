"""Both graphs over HTTP: the application, middleware, errors, tenants, quotas and metrics."""
