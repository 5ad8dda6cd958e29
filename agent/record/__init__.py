"""The append-only log of runs: events, store, verification, migrations, and the process log."""
