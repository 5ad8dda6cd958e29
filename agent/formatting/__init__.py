"""Values as text: the one place that formats them, for texts, tables, charts and exports."""
