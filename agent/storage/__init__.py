"""PostgreSQL database shared by several processes: usage counts and files."""
