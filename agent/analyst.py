"""The analyst: answers a question about files by calling tools. `graph` is for callers in the same process."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, StateGraph

from datasphinx.agent import routes
from datasphinx.agent.conversation.compiled_graph import CompiledGraph, compile_graph
from datasphinx.agent.node_runner import Flow, Steps, add_nodes
from datasphinx.agent.services import Services
from datasphinx.agent.state import AnalystContext, AnalystInput, AnalystState, GraphOutput
from datasphinx.nodes.analyst.begin import begin
from datasphinx.nodes.analyst.narrate import narrate
from datasphinx.nodes.analyst.plan import plan
from datasphinx.nodes.analyst.run_tool import run_tool
from datasphinx.nodes.await_clarification import AWAIT_CLARIFICATION

Analyst = CompiledGraph[AnalystState, AnalystContext, AnalystInput, GraphOutput]

_FLOW = Flow(
    "analyst",
    AnalystState,
    "narrate",
    context=AnalystContext.__annotations__,
    data=("source", "files", "datasets"),
)

STEPS: Steps = (
    (begin, "plan", {"plan": "question"}),
    (
        plan,
        routes.after_plan,
        {"run_tool": "call of a tool", "plan": "invalid step", "narrate": "conclusion, clarifying question or error"},
    ),
    (run_tool, "plan", {"plan": "result"}),
    (narrate, routes.after_answer, {"await_clarification": "clarifying question", END: "answered"}),
    AWAIT_CLARIFICATION,
)
"""The nodes, how the next one is chosen, and the labels of the edges."""


def build_analyst(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Analyst:
    """Return the compiled graph over `services`; by default, services are created at the first question."""
    services = services or Services()
    builder = StateGraph(
        AnalystState, context_schema=AnalystContext, input_schema=AnalystInput, output_schema=GraphOutput
    )
    add_nodes(builder, _FLOW, STEPS, services)
    return compile_graph(builder, "analyst", services, checkpointer)


graph = build_analyst()
