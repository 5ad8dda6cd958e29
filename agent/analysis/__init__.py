"""What the analyst does between its tools: begin with files, put the next question to the model, end."""
