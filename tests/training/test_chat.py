"""Training writes a conversation as the embedded model's server does."""

import json
import urllib.request

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

from datasphinx.agent.embedded.server import Endpoint
from training.groups import chat


@pytest.mark.embedded
def test_a_prompt_is_written_as_the_server_writes_it(endpoint: Endpoint) -> None:
    text = "cats(cat_id key)\n\nHow many <cats>?\nvalues: cats.name = 'Tom'"
    body = {"messages": [{"role": "system", "content": "SQL"}, {"role": "user", "content": text}]}
    request = urllib.request.Request(
        f"{endpoint.url}/apply-template",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {endpoint.key}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["prompt"] == chat([SystemMessage("SQL"), HumanMessage(text)])
