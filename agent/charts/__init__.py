"""Charts of a result: ECharts options and PNG pictures."""
