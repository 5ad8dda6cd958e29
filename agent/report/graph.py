"""The report graph: answers a request by several questions. `graph` is for callers in the same process."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, StateGraph

from datasphinx.agent import routes
from datasphinx.agent.conversation.compiled_graph import CompiledGraph, compile_graph
from datasphinx.agent.node_runner import Flow, Steps, add_nodes
from datasphinx.agent.report.parts import answer_parts
from datasphinx.agent.report.plan import begin, plan
from datasphinx.agent.report.write import review, write
from datasphinx.agent.services import Services
from datasphinx.agent.state import Context, ReportInput, ReportOutput, ReportState
from datasphinx.nodes.await_clarification import AWAIT_CLARIFICATION

ReportGraph = CompiledGraph[ReportState, Context, ReportInput, ReportOutput]

_FLOW = Flow("report", ReportState, "write", data=("source", "files", "datasets"), is_report=True)

STEPS: Steps = (
    (begin, "plan", {"plan": "request"}),
    (plan, routes.after_report_plan, {"answer_parts": "questions", "write": "plan to approve"}),
    (
        answer_parts,
        routes.after_answer_parts,
        {"review": "answers", "write": "clarifying question, or last answers"},
    ),
    (review, routes.after_review, {"answer_parts": "further questions", "write": "complete"}),
    (write, routes.after_answer, {"await_clarification": "clarifying question", END: "written"}),
    AWAIT_CLARIFICATION,
)
"""The nodes, how the next one is chosen, and the labels of the edges."""


def build_report(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> ReportGraph:
    """Return the compiled graph over `services`; by default, services are created at the first request."""
    services = services or Services()
    builder = StateGraph(ReportState, context_schema=Context, input_schema=ReportInput, output_schema=ReportOutput)
    add_nodes(builder, _FLOW, STEPS, services)
    return compile_graph(builder, "report", services, checkpointer)


graph = build_report()
