"""The SQL agent: answers a question about a database. `graph` is for callers in the same process."""

from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from agent import routes
from agent.async_graph import AsyncGraph, compile_graph
from agent.node_runner import Node, Router, add_node
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

Graph = AsyncGraph[State, None, Input, Output]

_RECURSION_LIMIT = 200
"""Steps of the graph, more than its loops can take with the highest limits that the settings allow."""

_START_NODES = ["retrieve_tables", "rewrite_question", "ask_clarification", "keep_answer"]
"""Nodes in which a run may start; see `routes.begin`."""


def build_graph(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Return the compiled graph over `services`; by default, services are created at the first question."""
    services = services or Services()
    builder = StateGraph(State, input_schema=Input, output_schema=Output)
    steps: tuple[tuple[Node, Router | str], ...] = (
        (rewrite_question, routes.after_rewrite_question),
        (retrieve_tables, routes.after_retrieve_tables),
        (select_columns, "ask_clarification"),
        (ask_clarification, routes.after_ask_clarification),
        (generate_sql, routes.after_generate_sql),
        (check_stop_words, routes.after_check_stop_words),
        (validate_sql, routes.after_validate_sql),
        (execute_sql, routes.after_execute_sql),
        (answer, routes.after_answer),
        (keep_answer, END),
    )
    for node, router in steps:
        add_node(builder, node, services, router)
    builder.add_node("await_clarification", partial(await_clarification, services=services))
    builder.add_conditional_edges(START, routes.begin, _START_NODES)
    builder.add_conditional_edges(
        "await_clarification", routes.after_await_clarification, ["ask_clarification", "retrieve_tables", END]
    )
    return compile_graph(builder, "agent", checkpointer, _RECURSION_LIMIT)


graph = build_graph()
