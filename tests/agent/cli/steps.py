"""Steps that a model at an endpoint takes in an analysis."""

import json
from typing import Any

from tests.support.fake_openai import first_dataset

DONE = {"answer": "{list.账号:returns}"}


def step(tool: str, **arguments: Any) -> Any:
    """A call of a tool; the id of the dataset is that which the model was told of."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if tool == "run_query":
            arguments["dataset_id"] = first_dataset(request)
        return {"tool": tool, "arguments": json.dumps(arguments)}

    return answer
