"""SQL: dialects, execution, worker processes, row-level security, repair and checks."""
