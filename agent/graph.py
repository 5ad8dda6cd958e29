"""The SQL agent: from a question to a proven answer. `graph` is for in-process callers."""

from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agent import routes
from agent.running import run_as_node
from agent.services import Services
from agent.state import Input, Output, State
from nodes.answer import answer
from nodes.ask_clarification import ask_clarification
from nodes.await_clarification import await_clarification
from nodes.check_stop_words import check_stop_words
from nodes.execute_sql import execute_sql
from nodes.generate_sql import generate_sql
from nodes.keep_answer import keep_answer
from nodes.retrieve_tables import retrieve_tables
from nodes.rewrite_question import rewrite_question
from nodes.select_columns import select_columns
from nodes.validate_sql import validate_sql

Graph = CompiledStateGraph[State, None, Input, Output]

_RECURSION_LIMIT = 200
"""Steps of the graph: more than its loops can take at the highest limits that the settings allow."""

_BEGINNINGS = ["retrieve_tables", "rewrite_question", "ask_clarification", "keep_answer"]
"""Where a run may begin, as `routes.begin` says."""


def build_graph(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Return the compiled graph over `services`; without them all comes from the settings at the first question."""
    services = services or Services()
    builder = StateGraph(State, input_schema=Input, output_schema=Output)
    for node in (
        rewrite_question,
        retrieve_tables,
        select_columns,
        ask_clarification,
        generate_sql,
        check_stop_words,
        validate_sql,
        execute_sql,
        answer,
        keep_answer,
    ):
        builder.add_node(node.__name__, run_as_node(node, services))
    builder.add_node("await_clarification", partial(await_clarification, services=services))
    builder.add_conditional_edges(START, routes.begin, _BEGINNINGS)
    builder.add_conditional_edges("rewrite_question", routes.after_rewrite_question)
    builder.add_conditional_edges("retrieve_tables", routes.after_retrieve_tables)
    builder.add_conditional_edges("select_columns", routes.after_select_columns)
    builder.add_conditional_edges("ask_clarification", routes.after_ask_clarification)
    builder.add_conditional_edges("generate_sql", routes.after_generate_sql)
    builder.add_conditional_edges("check_stop_words", routes.after_check_stop_words)
    builder.add_conditional_edges("validate_sql", routes.after_validate_sql)
    builder.add_conditional_edges("execute_sql", routes.after_execute_sql)
    builder.add_conditional_edges("answer", routes.after_answer)
    builder.add_conditional_edges(
        "await_clarification", routes.after_await_clarification, ["ask_clarification", "retrieve_tables", END]
    )
    builder.add_conditional_edges("keep_answer", routes.after_keep_answer)
    return builder.compile(checkpointer=checkpointer, name="agent").with_config(recursion_limit=_RECURSION_LIMIT)


graph = build_graph()
