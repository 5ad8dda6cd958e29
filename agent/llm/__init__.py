"""Chat models: the client, structured output, SQL extraction, and models for tests and replay."""
