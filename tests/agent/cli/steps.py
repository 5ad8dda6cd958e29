"""Steps that a model at an endpoint takes in an analysis."""

import json
from typing import Any

DONE = {"answer": "{list.账号:returns}"}


def step(tool: str, **arguments: Any) -> Any:
    """A call of a tool; the id of the dataset is that which the model was told of."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if tool == "run_query":
            schema = next(each for each in request["tools"] if each["function"]["name"] == tool)
            arguments["dataset_id"] = schema["function"]["parameters"]["properties"]["dataset_id"]["enum"][0]
        return {"tool": tool, "arguments": json.dumps(arguments)}

    return answer
