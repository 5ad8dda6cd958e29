"""The analyst's steps around its tools: start, prompt, control calls, state updates."""
