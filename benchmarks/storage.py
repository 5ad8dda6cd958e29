"""The growth of the stores: the bytes of conversations and of the record for each question.

Run it with `python -m benchmarks.storage`; the model is scripted, and the data directory a temporary one.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from datasphinx.agent.conversation.conversations import Conversations
from datasphinx.agent.conversation.reply import Reply
from datasphinx.agent.conversation.threads import open_threads
from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings

THREADS, QUESTIONS = 100, 1000
SQL = "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status ORDER BY orders DESC"


def main() -> None:
    """Ask the questions, and print the size of each store."""
    model = ScriptedModel({"GeneratedSQL": [{"sql": SQL, "assumptions": []}]}, repeat_last=True)
    with TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder), enable_sql_validation=False)
        services = Services(settings, model=model)
        conversations = Conversations(build_graph(services), open_threads(settings))
        for _ in range(THREADS):
            thread_id = None
            for number in range(QUESTIONS // THREADS):
                asked = {"question": f"How many orders are there by status, counted for the time no. {number}?"}
                *_, (_, reply) = conversations.stream(asked, thread_id)
                thread_id = cast(Reply, reply)["thread_id"]
        services.close()
        for name in ("threads", "record"):
            size = sum(file.stat().st_size for file in Path(folder).glob(f"{name}.sqlite*"))
            print(f"{name}: {size / QUESTIONS / 1000:.0f} kB for each question, {size / 1e6:.1f} MB in all")  # noqa: T201


if __name__ == "__main__":
    main()
