"""PostgreSQL database shared by several processes: usage counts, files and boards."""
