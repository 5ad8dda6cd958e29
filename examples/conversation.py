"""Ask a question, answer the clarifying question if there is one, and ask a follow-up."""

from datasphinx import Agent

agent = Agent()
response = agent.chat("How many orders does each status have?")
if response.clarification:
    response = agent.clarify(1)
print(response)
print(agent.follow_up("How many is that in all?"))
