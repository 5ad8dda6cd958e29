"""The sample shop, a SQLite database, and two sample spreadsheets."""
