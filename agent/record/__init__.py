"""The append-only log of runs: events, store, verification, migrations; the process log, and OpenTelemetry."""
