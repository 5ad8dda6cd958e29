"""Load spreadsheets and other files into read-only tables."""
