import math
from typing import Any

import pytest

from datasphinx.agent.embedded.candidates import from_branches, sample_texts
from datasphinx.agent.embedded.grammar.statement import StatementGrammar, statement_grammar
from datasphinx.agent.errors import BudgetExceeded, DatasphinxError, ModelAnswerUnreadable, Unavailable
from datasphinx.agent.llm.client import WrittenText
from datasphinx.agent.llm.logprobs import Token
from datasphinx.agent.schema.catalog import Catalog, Column, ForeignKey, Table
from tests.agent.embedded.grammar.gbnf_reader import Gbnf

KEY = ForeignKey(("customer_id",), "customers", ("customer_id",))
SHOP = Catalog(
    "sqlite",
    {
        "customers": Table("customers", (Column("customer_id", "INT"), Column("name", "TEXT"))),
        "orders": Table("orders", (Column("order_id", "INT"), Column("customer_id", "INT")), foreign_keys=(KEY,)),
        "customs": Table("customs", (Column("duty", "INT"),)),
    },
)


def token(text: str, share: float, **alternatives: float) -> Token:
    shares = {name.replace("_", " "): math.log(other) for name, other in alternatives.items()}
    return Token(text, math.log(share), shares)


CERTAIN = [token("FROM", 1), token(" customers", 1), token(" SELECT", 1), token(" name", 1)]
UNCERTAIN = [
    token("FROM", 1, SELECT=0.5),
    token(" c", 0.5, _orders=0.3, _customers=0.1, _nothing=0.1),
    token("ustomers", 1, ustoms=0.5),
    token(" SELECT", 0.6, _JOIN=0.4, _WHERE=0.1),
    token(" name", 0.5, _customer_id=0.5),
]


@pytest.fixture(scope="module")
def grammar() -> StatementGrammar:
    return statement_grammar(SHOP, SHOP.selection(), "How many?", ())


def test_the_alternatives_in_from_are_ranked_by_their_probability(grammar: StatementGrammar) -> None:
    branches = from_branches(UNCERTAIN, grammar)
    assert [branch.start for branch in branches] == ["FROM orders", "FROM customs", "FROM customers JOIN"]
    assert [round(math.exp(branch.logprob), 2) for branch in branches] == [0.3, 0.25, 0.2]
    assert Gbnf(branches[0].grammar).accepts("FROM orders SELECT order_id")
    assert Gbnf(branches[2].grammar).accepts("FROM customers JOIN orders SELECT customers.name")
    assert not any(Gbnf(branch.grammar).accepts("FROM customers SELECT name") for branch in branches)


def test_no_branches_where_the_model_was_certain(grammar: StatementGrammar) -> None:
    assert from_branches(CERTAIN, grammar) == []
    assert from_branches([token("FROM", 1), token(" customers", 0.98, _orders=0.01)], grammar) == []


class Model:
    """Answers with the texts in order, and keeps the options; after `limit` calls it raises `error`."""

    def __init__(self, *texts: WrittenText, limit: int = 100, error: DatasphinxError | None = None) -> None:
        self.texts, self.calls, self.limit = list(texts), list[dict[str, Any]](), limit
        self.error = error or BudgetExceeded("calls", "DATASPHINX_MAX_LLM_CALLS")

    def __call__(self, **options: Any) -> WrittenText:
        if len(self.calls) == self.limit:
            raise self.error
        self.calls.append(options)
        return self.texts[len(self.calls) - 1] if len(self.calls) <= len(self.texts) else WrittenText("more", -9.0)


def test_likelier_branches_come_before_samples_and_others_after(grammar: StatementGrammar) -> None:
    model = Model(WrittenText("FROM customers SELECT name", math.log(0.27), UNCERTAIN))
    texts = list(sample_texts(model, 3, grammar))
    starts = [branch.grammar for branch in from_branches(UNCERTAIN, grammar)]

    assert len(texts) == len(model.calls) == 7
    assert model.calls[0] == {"temperature": 0.0, "seed": 0, "alternatives": True, "grammar": grammar.text}
    assert [call["temperature"] for call in model.calls] == [0.0, 0.0, 0.4, 0.0, 1.0, 1.0, 1.0]
    assert [call["grammar"] for call in model.calls[1::2][:2]] == starts[:2]
    assert {call["grammar"] for call in (model.calls[2], *model.calls[4:])} == {grammar.text}


def test_only_samples_follow_a_certain_text(grammar: StatementGrammar) -> None:
    model = Model(WrittenText("FROM customers SELECT name", -0.1, CERTAIN))
    list(sample_texts(model, 3, grammar))
    assert [call["temperature"] for call in model.calls] == [0.0, 0.4, 0.4, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "error", [BudgetExceeded("calls", "DATASPHINX_MAX_LLM_CALLS"), Unavailable("embedded_model_silent", seconds=60.0)]
)
def test_the_texts_end_with_the_budget_and_the_time(grammar: StatementGrammar, error: DatasphinxError) -> None:
    model = Model(WrittenText("FROM customers SELECT name", -3.0, UNCERTAIN), limit=2, error=error)
    assert len(list(sample_texts(model, 3, grammar))) == 2

    with pytest.raises(type(error)):
        next(sample_texts(Model(limit=0, error=error), 3, grammar))


def test_no_text_is_begun_after_many_characters(grammar: StatementGrammar) -> None:
    long = WrittenText(f"FROM customers SELECT {'name, ' * 50}name", -3.0)
    assert len(list(sample_texts(Model(*[long] * 6), 3, grammar))) == 3


def test_cut_off_texts_count_as_well(grammar: StatementGrammar) -> None:
    def cut_off(**options: Any) -> WrittenText:
        raise ModelAnswerUnreadable("GeneratedSQL", "FROM customers SELECT " + "name, " * 100)

    assert [written.text for written in sample_texts(cut_off, 3, grammar)] == ["", ""]


def test_one_candidate_needs_no_alternatives(grammar: StatementGrammar) -> None:
    model = Model(WrittenText("FROM customers SELECT name", -3.0))
    assert next(sample_texts(model, 1, grammar)).text == "FROM customers SELECT name"
    assert "alternatives" not in model.calls[0]
