"""Query specs: queries as JSON, checked and compiled to SQL."""
