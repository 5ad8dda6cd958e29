"""The analyst: from files and a question to a proven answer, by tools alone. `graph` is for in-process callers."""

from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agent import analyst_routes as routes
from agent.analyst_state import AnalystInput, AnalystState, new_analysis
from agent.answers.analysis import analysis_failure
from agent.running import Flow, run_as_node
from agent.services import Services
from agent.state import Output
from nodes.analyst.narrate import narrate
from nodes.analyst.plan import plan
from nodes.analyst.rewrite_question import rewrite_question
from nodes.analyst.run_tool import run_tool
from nodes.await_clarification import await_clarification

Analyst = CompiledStateGraph[AnalystState, None, AnalystInput, Output]

_FLOW = Flow("analyst", new_analysis, "narrate", analysis_failure)
_RECURSION_LIMIT = 500
"""Steps of the graph: the model's calls are bounded by the settings, those that follow from the files by these."""

_BEGINNINGS = ["plan", "rewrite_question"]
"""Where a run may begin, as `analyst_routes.begin` says."""


def build_analyst(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Analyst:
    """Return the compiled graph over `services`; without them all comes from the settings at the first question."""
    services = services or Services()
    builder = StateGraph(AnalystState, input_schema=AnalystInput, output_schema=Output)
    for node in (rewrite_question, plan, run_tool, narrate):
        builder.add_node(node.__name__, run_as_node(node, services, _FLOW))
    builder.add_node("await_clarification", partial(await_clarification, services=services))
    builder.add_conditional_edges(START, routes.begin, _BEGINNINGS)
    builder.add_conditional_edges("rewrite_question", routes.after_rewrite_question)
    builder.add_conditional_edges("plan", routes.after_plan)
    builder.add_conditional_edges("run_tool", routes.after_run_tool)
    builder.add_conditional_edges("narrate", routes.after_narrate)
    builder.add_conditional_edges("await_clarification", routes.after_await_clarification, ["plan", END])
    return builder.compile(checkpointer=checkpointer, name="analyst").with_config(recursion_limit=_RECURSION_LIMIT)


graph = build_analyst()
