"""The analyst: answers a question about files by calling tools. `graph` is for callers in the same process."""

from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from agent import routes
from agent.answers.outputs import analysis_failure_output
from agent.async_graph import AsyncGraph, compile_graph
from agent.node_runner import Flow, Node, Router, add_node
from agent.services import Services
from agent.state import AnalystInput, AnalystState, Output, new_analysis
from nodes.analyst.narrate import narrate
from nodes.analyst.plan import plan
from nodes.analyst.rewrite_question import rewrite_question
from nodes.analyst.run_tool import run_tool
from nodes.await_clarification import await_clarification

Analyst = AsyncGraph[AnalystState, None, AnalystInput, Output]

_FLOW = Flow("analyst", new_analysis, "narrate", analysis_failure_output)
_RECURSION_LIMIT = 500
"""Steps of the graph. The settings bound the calls of the model and the calls that follow from the files."""

_START_NODES = ["plan", "rewrite_question"]
"""Nodes in which a run may start; see `routes.begin_analysis`."""


def build_analyst(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Analyst:
    """Return the compiled graph over `services`; by default, services are created at the first question."""
    services = services or Services()
    builder = StateGraph(AnalystState, input_schema=AnalystInput, output_schema=Output)
    steps: tuple[tuple[Node, Router | str], ...] = (
        (rewrite_question, "plan"),
        (plan, routes.after_plan),
        (run_tool, "plan"),
        (narrate, routes.after_narrate),
    )
    for node, router in steps:
        add_node(builder, node, services, router, _FLOW)
    builder.add_node("await_clarification", partial(await_clarification, services=services))
    builder.add_conditional_edges(START, routes.begin_analysis, _START_NODES)
    builder.add_conditional_edges("await_clarification", routes.after_analyst_clarification, ["plan", END])
    return compile_graph(builder, "analyst", checkpointer, _RECURSION_LIMIT)


graph = build_analyst()
