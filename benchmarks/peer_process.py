"""One system of the comparison in `benchmarks.peers`, run as a script by the interpreter of its environment.

It imports only the standard library and the packages of its system. It prints one JSON object per phase.
"""

import asyncio
import contextlib
import glob
import json
import os
import resource
import sqlite3
import statistics
import sys
import time

ROLE = """You are an agent designed to interact with a SQL database.
Given an input question, create a syntactically correct {dialect} query to run, then look at the results of the query
and return the answer. Limit your query to at most {top_k} results unless the user asks for another number.
Only ask for the relevant columns. You MUST double check your query before executing it. DO NOT make any DML statements.
To start you should ALWAYS look at the tables in the database. Then query the schema of the most relevant tables."""


def datasphinx(database, url):
    """Agent.chat, as in the README."""
    os.environ.update(DATASPHINX_LLM_BASE_URL=url, DATASPHINX_LLM_MODEL="datasphinx", DATASPHINX_LLM_PROFILE="standard")
    from datasphinx.agent.chat import Agent

    agent = Agent(f"sqlite:///{database}")
    return lambda question: agent.chat(question).sql


def vanna(database, url):
    """Vanna 2: agent with `RunSqlTool` and the schema in the system prompt, in place of the training of 0.x."""
    from vanna import Agent, AgentConfig
    from vanna.core.registry import ToolRegistry
    from vanna.core.system_prompt import DefaultSystemPromptBuilder
    from vanna.core.user import RequestContext, User, UserResolver
    from vanna.integrations.local import LocalFileSystem
    from vanna.integrations.local.agent_memory import DemoAgentMemory
    from vanna.integrations.openai import OpenAILlmService
    from vanna.integrations.sqlite import SqliteRunner
    from vanna.tools import RunSqlTool

    class OneUser(UserResolver):
        async def resolve_user(self, request_context):
            return User(id="user", email="user@example.com", group_memberships=["user"])

    with sqlite3.connect(database) as connection:
        tables = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        schema = "\n".join(sql for (sql,) in tables)

    class WithSchema(DefaultSystemPromptBuilder):
        async def build_system_prompt(self, user, tools):
            return f"{await super().build_system_prompt(user, tools)}\n\nDatabase schema (SQLite):\n{schema}"

    tools = ToolRegistry()
    files = LocalFileSystem(os.path.join(os.environ["PEER_FOLDER"], "vanna"))
    tools.register_local_tool(RunSqlTool(sql_runner=SqliteRunner(database), file_system=files), access_groups=["user"])
    agent = Agent(
        llm_service=OpenAILlmService(model="vanna", api_key="none", base_url=url),
        tool_registry=tools,
        user_resolver=OneUser(),
        agent_memory=DemoAgentMemory(max_items=1000),
        system_prompt_builder=WithSchema(),
        config=AgentConfig(stream_responses=False),
    )
    loop = asyncio.new_event_loop()
    context = RequestContext(cookies={}, headers={}, metadata={})

    async def answer(question):
        shown = agent.send_message(context, question, conversation_id=str(time.perf_counter_ns()))
        # The rows of the statement are shown as a component of their own.
        return "DataFrameComponent" in [type(component.rich_component).__name__ async for component in shown]

    return lambda question: loop.run_until_complete(answer(question))


def langchain(database, url):
    """The SQL agent of LangChain's tutorial: `SQLDatabaseToolkit` and `create_agent`."""
    from langchain.agents import create_agent
    from langchain_community.agent_toolkits import SQLDatabaseToolkit
    from langchain_community.utilities import SQLDatabase
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="langchain", base_url=url, api_key="none", temperature=0)
    source = SQLDatabase.from_uri(f"sqlite:///{database}")
    tools = SQLDatabaseToolkit(db=source, llm=model).get_tools()
    agent = create_agent(model, tools, system_prompt=ROLE.format(dialect=source.dialect, top_k=5))

    def answer(question):
        messages = agent.invoke({"messages": [{"role": "user", "content": question}]})["messages"]
        calls = [call for message in messages for call in getattr(message, "tool_calls", ())]
        return next((call["args"]["query"] for call in reversed(calls) if call["name"] == "sql_db_query"), None)

    return answer


def llamaindex(database, url):
    """`NLSQLTableQueryEngine` over all tables."""
    from llama_index.core import Settings, SQLDatabase
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.query_engine import NLSQLTableQueryEngine
    from llama_index.llms.openai_like import OpenAILike
    from sqlalchemy import create_engine

    model = OpenAILike(model="llamaindex", api_base=url, api_key="none", is_chat_model=True, context_window=128_000)
    Settings.llm, Settings.embed_model = model, MockEmbedding(embed_dim=8)
    engine = NLSQLTableQueryEngine(sql_database=SQLDatabase(create_engine(f"sqlite:///{database}")), llm=model)
    return lambda question: engine.query(question).metadata.get("sql_query")


def pandasai(database, url):
    """PandasAI 3: every table is read into a DataFrame, since it has no SQLite source."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import pandas
    import pandasai as library
    from pandasai_litellm.litellm import LiteLLM

    library.config.set({"llm": LiteLLM(model="openai/pandasai", api_key="none", api_base=url), "save_logs": False})
    with sqlite3.connect(database) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        frames = [
            library.DataFrame(pandas.read_sql(f"SELECT * FROM {name}", connection), _table_name=name)
            for (name,) in found.fetchall()
        ]
    agent = library.Agent(frames)

    def answer(question):
        agent.chat(question)
        return agent.last_generated_code

    return answer


SYSTEMS = {each.__name__: each for each in (datasphinx, vanna, langchain, llamaindex, pandasai)}


def cpu_s():
    """Return the CPU time of this process and of its children, in seconds."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = time.process_time() + ended.ru_utime + ended.ru_stime
    for path in glob.glob(f"/proc/{os.getpid()}/task/*/children"):
        children = []
        with contextlib.suppress(OSError), open(path) as file:
            children = file.read().split()
        for thread in (each for child in children for each in glob.glob(f"/proc/{child}/task/*/schedstat")):
            # A thread may end in between.
            with contextlib.suppress(OSError), open(thread) as scheduled:
                spent += int(scheduled.read().split()[0]) / 1e9
    return spent


def main():
    """Ask the first question; then, with rounds, all questions so often. The end of each phase is a line of JSON."""
    system, database, url, questions, rounds = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
    with open(questions) as file:
        asked = json.load(file)
    started = time.perf_counter()
    ask = SYSTEMS[system](database, url)
    is_answered = bool(ask(asked[0]["question"]))
    first = {"first_s": time.perf_counter() - started, "cpu_s": cpu_s(), "is_answered": is_answered}
    print("\n" + json.dumps(first), flush=True)
    sys.stdin.readline()
    spent, unanswered = [], 0
    for _ in range(rounds):
        for question in asked:
            before = cpu_s()
            unanswered += not ask(question["question"])
            spent.append((cpu_s() - before) * 1000)
    if rounds:
        print("\n" + json.dumps({"cpu_ms": statistics.median(spent), "unanswered": unanswered}), flush=True)
    os._exit(0)


main()
