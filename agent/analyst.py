"""The analyst: answers a question about files by calling tools. `graph` is for callers in the same process."""

from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from agent import routes
from agent.answers.outputs import analysis_failure_output
from agent.conversation.compiled_graph import CompiledGraph, compile_graph
from agent.node_runner import Flow, Node, Router, add_node, described
from agent.services import Services
from agent.state import AnalystContext, AnalystInput, AnalystState, GraphOutput, new_analysis
from nodes.analyst.narrate import narrate
from nodes.analyst.plan import plan
from nodes.analyst.run_tool import run_tool
from nodes.await_clarification import await_clarification

Analyst = CompiledGraph[AnalystState, AnalystContext, AnalystInput, GraphOutput]

_FLOW = Flow(
    "analyst",
    new_analysis,
    "narrate",
    analysis_failure_output,
    context=AnalystContext.__annotations__,
    data=("source", "files", "datasets"),
)
_RECURSION_LIMIT = 500
"""Steps of the graph. The settings bound the calls of the model and the calls that follow from the files."""

STEPS: tuple[tuple[Node, Router | str, dict[str, str]], ...] = (
    (
        plan,
        routes.after_plan,
        {"run_tool": "call of a tool", "plan": "invalid step", "narrate": "conclusion, clarifying question or error"},
    ),
    (run_tool, "plan", {"plan": "result"}),
    (narrate, routes.after_narrate, {"await_clarification": "clarifying question", END: "answered"}),
)
"""The nodes, how the next one is chosen, and the labels of the edges."""


def build_analyst(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Analyst:
    """Return the compiled graph over `services`; by default, services are created at the first question."""
    services = services or Services()
    builder = StateGraph(
        AnalystState, context_schema=AnalystContext, input_schema=AnalystInput, output_schema=GraphOutput
    )
    for node, router, labels in STEPS:
        add_node(builder, node, services, router, labels, _FLOW)
    builder.add_node(
        "await_clarification",
        partial(await_clarification, services=services),
        metadata=described(await_clarification),
    )
    builder.add_conditional_edges(START, routes.begin_analysis, {"question": "plan"})
    builder.add_conditional_edges(
        "await_clarification", routes.after_analyst_clarification, {"answer of the user": "plan", END: END}
    )
    return compile_graph(builder, "analyst", services, checkpointer, _RECURSION_LIMIT)


graph = build_analyst()
