"""Outputs of both graphs: the output type, the text and the narration of an answer, errors and clarifying questions."""
