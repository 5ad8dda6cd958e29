"""Use the LangGraph graph itself: stream the steps of a question, then read its output."""

from datasphinx import graph

output = {}
for mode, chunk in graph.stream({"question": "How many customers are there?"}, stream_mode=["updates", "values"]):
    if mode == "updates":
        print("step:", *chunk)
    else:
        output = chunk
print(output["answer"])
