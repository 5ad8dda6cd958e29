"""Plain values that describe a database: tables, columns, rendering, secret columns, inferred keys."""
