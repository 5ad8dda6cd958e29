"""Files over HTTP: uploaded, made into datasets, asked, and removed."""

import json
from typing import Any

import pytest

from tests.agent.server.asking import QUESTION, ROWS, kept, query_or_finish, upload
from tests.agent.server.serving import Served
from tests.agent.tools.conftest import RETURNS

# The model asks for the returns by account.
ANSWERS = {"AnalystStep": [query_or_finish]}
SETTINGS = {"max_upload_bytes": 50_000}


@pytest.fixture
def served(emptied: Served) -> Served:
    return emptied


def test_a_file_is_uploaded_asked_and_removed(served: Served) -> None:
    response = upload(served, "returns.csv", RETURNS.encode())
    assert response.status_code == 201
    made = response.json()
    (dataset,) = made["datasets"]
    assert (made["name"], made["bytes"]) == ("returns.csv", len(RETURNS.encode()))
    assert dataset["row_count"] > 0 and dataset["source_type"] == "csv" and dataset["report"]["header_row"] == 1
    assert served.http.get("/datasets").json() == {"datasets": [dataset]}

    asked = {"question": QUESTION, "datasets": [dataset["dataset_id"]]}
    assert served.invoke("analyst", **asked)["value"]["rows"] == ROWS

    assert served.http.delete(f"/datasets/{dataset['dataset_id']}").status_code == 204
    assert served.http.get("/datasets").json() == {"datasets": []}
    assert served.invoke("analyst", **asked)["error"]["code"] == "dataset_unknown"
    assert kept(served) == []


def test_a_file_is_read_again_with_other_options(served: Served) -> None:
    first = upload(served, "a.csv", b"a,b\n1,x\n2,y\n").json()
    body = {"file_id": first["file_id"], "options": {"types": {"a": "text"}}}
    again = served.http.post("/datasets", json=body)
    assert again.status_code == 201
    assert again.json()["schema"][0] == {"name": "a", "type": "VARCHAR"}
    assert again.json()["report"]["options"] == body["options"]
    assert len(served.http.get("/datasets").json()["datasets"]) == 2

    refused = {
        422: {**body, "options": {"types": {"none": "text"}}},
        404: {**body, "file_id": "file_" + "0" * 16},
    }
    for status, wrong in refused.items():
        assert served.http.post("/datasets", json=wrong).status_code == status
    assert served.http.post("/datasets", json={**body, "options": {"colour": "red"}}).status_code == 422


def test_what_was_read_of_a_dataset_goes_with_it(served: Served) -> None:
    settings = served.services.settings
    ids = [
        upload(served, "returns.csv", RETURNS.encode() + extra).json()["datasets"][0]["dataset_id"]
        for extra in (b"", b"beta,2024-03-31,0,1,1,low\n")
    ]
    before = set(settings.cache_dir.rglob("*"))
    for asked in (ids[:1], ids):
        assert served.invoke("analyst", question=QUESTION, datasets=asked)["error"] is None
    assert set(settings.cache_dir.rglob("*")) == before
    for dataset_id in ids:
        assert served.http.delete(f"/datasets/{dataset_id}").status_code == 204
    left = [path for name in ("files", "datasets", "joined") for path in (settings.data_dir / name).rglob("*")]
    assert left == []


def test_a_preview_has_rows_and_notes_in_the_language_of_the_client(served: Served) -> None:
    text = b"sales in 2024\n\nregion,pairs\nnorth,3\nsouth,4\nTotal,7\n"
    made = upload(served, "shoes.csv", text).json()["datasets"][0]
    path = f"/datasets/{made['dataset_id']}/preview"
    found = served.http.get(path).json()
    assert {name: found[name] for name in made} == made
    assert (found["columns"], found["rows"]) == (["region", "pairs"], [["north", 3], ["south", 4]])
    assert found["report"]["header_row"] == 3 and "Total" in " ".join(found["notes"])
    russian = served.http.get(path, params={"rows": 1}, headers={"Accept-Language": "ru"}).json()
    assert len(russian["rows"]) == 1 and russian["notes"] != found["notes"]
    assert served.http.get(path, params={"rows": 51}).status_code == 422
    unknown = served.http.get("/datasets/ds_0123456789abcdef/preview")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "dataset_unknown")


def test_a_file_is_read_with_options(served: Served) -> None:
    text = b"kind,Jan,Feb,Mar\nboot,3,,5\nshoe,7,8,9\n"
    options = {"unpivot": {"name": "month", "value": "pairs"}, "types": {"Jan": "number"}}
    made = upload(served, "shoes.csv", text, options=json.dumps(options)).json()["datasets"][0]
    assert [column["name"] for column in made["schema"]] == ["kind", "month", "pairs"]
    assert (made["row_count"], made["report"]["options"]["unpivot"]["value"]) == (5, "pairs")
    for wrong in ("{", '{"types": {"Jan": "colour"}}', '{"colour": 1}', '{"tables": [1], "header_row": 1}'):
        refused = upload(served, "shoes.csv", text, options=wrong)
        assert (refused.status_code, refused.json()["code"]) == (422, "input_invalid"), wrong
    refused = upload(served, "shoes.csv", text, options='{"fill_down": ["size"]}')
    assert (refused.status_code, refused.json()["code"]) == (422, "load_option_invalid")


@pytest.mark.parametrize(
    ("name", "content", "status", "code"),
    [
        ("a.csv", b"", 415, "file_unreadable"),
        ("a.exe", b"MZ", 415, "file_unreadable"),
        ("a.xlsx", b"not a zip archive", 422, "file_empty"),
        ("a.csv", b"\0\0\0\0", 415, "file_unreadable"),
        ("a.csv", b"only,a,header\n", 422, "file_empty"),
        ("a.csv", b"x" * 50_001, 413, "file_too_large"),
        ("a.csv", b"x" * 90_000, 413, "request_too_large"),
    ],
)
def test_what_is_no_table_leaves_nothing_behind(
    served: Served, name: str, content: bytes, status: int, code: str
) -> None:
    response = upload(served, name, content)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert kept(served) == []


def test_who_sends_the_same_in_vain_takes_it_from_nobody(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = served.services.registry
    create, others = registry.create, [registry.delete_file]

    def after_another(file_id: str, *given: Any, **named: Any) -> Any:
        if others:
            others.pop()(file_id)
        return create(file_id, *given, **named)

    monkeypatch.setattr(registry, "create", after_another)
    response = upload(served, "returns.csv", RETURNS.encode())
    assert (response.status_code, response.json()["bytes"]) == (201, len(RETURNS.encode()))
    assert not others and [file.name for file in registry.files()] == ["returns.csv"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd.csv", "..\\..\\x.csv", "a\u202eb.csv", "x" * 300 + ".csv", "на складе.csv", "/x.csv"]
)
def test_the_name_of_a_file_is_but_a_name(served: Served, name: str) -> None:
    response = upload(served, name, RETURNS.encode())
    shown = response.json()["name"]
    assert response.status_code == 201 and shown.endswith(".csv") and len(shown) <= 255
    assert "/" not in shown and "\\" not in shown and shown.isprintable()
    assert len(served.http.get("/datasets").json()["datasets"]) == 1
