"""All secrets of the settings are known, whatever field holds them, and short ones are replaced as words."""

import pytest

from datasphinx.agent.core.redact import without_password, without_secrets
from datasphinx.agent.errors import SourceUnreachable
from datasphinx.agent.record.credentials import secrets_of
from datasphinx.agent.settings import load_settings
from datasphinx.agent.sql.database import Database

SETTINGS = {
    "llm_api_key": "key-of-the-model",
    "llm_models": {"validate": {"model": "v", "api_key": "key-of-a-role"}},
    "record_url": "postgresql://ann:pw-of-record@host/record",
    "sources": {
        "here": {
            "url": "postgresql://ann:s3c@host/shop",
            "connect_args": {"private_key_file_pwd": "pw-of-key", "port": 5},
        },
        "there": "mysql://ann:p%40ss-word@host/shop",
        "beyond": "trino://ann@host/shop?access_token=to%2Bken-1&http_scheme=https",
    },
}


@pytest.mark.parametrize(
    "secret",
    [
        "key-of-the-model", "key-of-a-role", "pw-of-record", "s3c",
        "pw-of-key", "p@ss-word", "p%40ss-word", "to+ken-1", "to%2Bken-1",
    ],
)  # fmt: skip
def test_no_secret_of_the_settings_is_in_a_redacted_text(secret: str) -> None:
    secrets = secrets_of(load_settings(**SETTINGS))
    assert without_secrets(f"it failed with ({secret}), at port 5 of host", secrets) == (
        "it failed with (***), at port 5 of host"
    )


def test_secrets_in_the_query_of_a_url_are_replaced() -> None:
    url = "https://host/a?sig=s1&X-Amz-Signature=s2&AccountKey=s3&passphrase=s4&warehouse=w"
    assert without_secrets(url) == (
        "https://host/a?sig=***&X-Amz-Signature=***&AccountKey=***&passphrase=***&warehouse=w"
    )


@pytest.mark.parametrize("password", ["x", "ab", "/", ":", "@", "/slash", "p@ss", ":@/"])
def test_the_password_of_a_url_may_be_short_and_need_no_escapes(password: str) -> None:
    url = f"postgresql://ann:{password}@host/shop"
    assert without_password(url) == "postgresql://ann:***@host/shop"
    assert without_secrets(f"cannot open {url}: refused") == "cannot open postgresql://ann:***@host/shop: refused"


def test_a_short_secret_is_no_part_of_a_word() -> None:
    assert without_secrets("the s3cond is 's3c'", ("s3c",)) == "the s3cond is '***'"


def test_a_message_of_a_driver_has_no_secret_of_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database("postgresql+psycopg://ann:s3c@127.0.0.1:9/shop", connect_args={"passfile": "/a/file-of-pw"})

    def fail() -> None:
        raise OSError("refused: password=s3c passfile=file-of-pw host=127.0.0.1")

    monkeypatch.setattr(database.engine, "connect", fail)
    with pytest.raises(SourceUnreachable) as raised, database.connect():
        pass
    assert "s3c" not in str(raised.value) and "127.0.0.1" in str(raised.value)
