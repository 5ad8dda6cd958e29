"""The SQL agent: answers a question about a database. `graph` is for callers in the same process."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, StateGraph

from datasphinx.agent import routes
from datasphinx.agent.conversation.compiled_graph import CompiledGraph, compile_graph
from datasphinx.agent.node_runner import SQL_AGENT, Steps, add_nodes
from datasphinx.agent.services import Services
from datasphinx.agent.state import Context, GraphOutput, Input, State
from datasphinx.nodes.answer import answer
from datasphinx.nodes.ask_clarification import ask_clarification
from datasphinx.nodes.await_clarification import AWAIT_CLARIFICATION
from datasphinx.nodes.begin import begin
from datasphinx.nodes.check_stop_words import check_stop_words
from datasphinx.nodes.execute_sql import execute_sql
from datasphinx.nodes.generate_sql import generate_sql
from datasphinx.nodes.keep_answer import keep_answer
from datasphinx.nodes.retrieve_tables import retrieve_tables
from datasphinx.nodes.select_columns import select_columns
from datasphinx.nodes.validate_sql import validate_sql

Graph = CompiledGraph[State, Context, Input, GraphOutput]

STEPS: Steps = (
    (
        begin,
        routes.after_begin,
        {
            "retrieve_tables": "question",
            "ask_clarification": "clarification or feedback",
            "keep_answer": "answer accepted",
        },
    ),
    (
        retrieve_tables,
        routes.after_retrieve_tables,
        {
            "select_columns": "tables found",
            "retrieve_tables": "no table found",
            "check_stop_words": "statement without a model",
            "answer": "last result in another form, or error",
        },
    ),
    (select_columns, "ask_clarification", {"ask_clarification": "columns selected"}),
    (
        ask_clarification,
        routes.after_ask_clarification,
        {
            "generate_sql": "unambiguous",
            "answer": "clarifying question or error",
            "check_stop_words": "statement of the chosen option",
        },
    ),
    (
        generate_sql,
        routes.after_generate_sql,
        {
            "check_stop_words": "statement",
            "answer": "reply, last rows, clarifying question or error",
            "retrieve_tables": "off topic",
        },
    ),
    (
        check_stop_words,
        routes.after_check_stop_words,
        {
            "validate_sql": "permitted",
            "generate_sql": "forbidden operation",
            "execute_sql": "permitted, without a model",
            "check_stop_words": "edited statement",
        },
    ),
    (
        validate_sql,
        routes.after_validate_sql,
        {
            "execute_sql": "valid",
            "check_stop_words": "corrected or edited statement",
            "generate_sql": "objection",
            "answer": "valid result or error",
        },
    ),
    (
        execute_sql,
        routes.after_execute_sql,
        {
            "answer": "result or error",
            "generate_sql": "statement failed",
            "validate_sql": "doubtful result",
            "retrieve_tables": "verified query failed",
            "check_stop_words": "edited statement",
        },
    ),
    (answer, routes.after_answer, {"await_clarification": "clarifying question", END: "answered"}),
    AWAIT_CLARIFICATION,
    (keep_answer, END, {END: "acknowledged"}),
)
"""The nodes, how the next one is chosen, and the labels of the edges."""


def build_graph(services: Services | None = None, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    """Return the compiled graph over `services`; by default, services are created at the first question."""
    services = services or Services()
    builder = StateGraph(State, context_schema=Context, input_schema=Input, output_schema=GraphOutput)
    add_nodes(builder, SQL_AGENT, STEPS, services)
    return compile_graph(builder, "agent", services, checkpointer)


graph = build_graph()
