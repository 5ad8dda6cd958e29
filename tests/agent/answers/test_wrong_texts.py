"""Texts of a hostile or careless model: none with a figure or name that is not from the rows is shown."""

from itertools import product
from typing import Any

import pytest

from datasphinx.agent.answers.narration import seen
from datasphinx.agent.answers.references import Said, fill, unsupported
from tests.agent.answers.tables import CITIES, COUNT, GRID, MONTHS, PLACES, SALES, TREND, facts_about

FIGURES = (
    "1185", "1,185", "1.185", "1 185", "1\u202f185", "1'185", "0", "7", "12.5", "99 %", "99%", "５００", "٧٧٧", "७७",
    "²", "⑦", "½", "Ⅳ", "𝟗", "3x", "5k", "1e3", "2025-12-31", "31.12.2025", "10:30", "&#49;", "€ 5", "5️⃣", "0x1F", "№3",
)  # fmt: skip
SENTENCES = {
    "en": ("{max.sales:city} sold most, %s.", "In total {sum.sales}, or %s, were sold.", "%s: {max.sales}"),
    "de": ("{max.sales:city} verkauft mit %s am meisten.", "Insgesamt {sum.sales} bzw. %s.", "%s: {max.sales}"),
    "ru": ("Лидирует {max.sales:city} — %s.", "Всего {sum.sales}, то есть %s.", "%s: {max.sales}"),
    "zh": ("{max.sales:city}最多，为%s。", "合计{sum.sales}，即%s。", "%s：{max.sales}"),
}
NAMED = {
    "en": ("%s sold most, {max.sales}.", "Most was sold in %s: {max.sales}.", "{max.sales:city} is ahead of %s."),
    "de": ("%s verkaufte am meisten, {max.sales}.", "In %s waren es {max.sales}.", "{max.sales:city} vor %s."),
    "ru": ("%s на первом месте: {max.sales}.", "Лидер — %s, {max.sales}.", "{max.sales:city} впереди %s."),
    "zh": ("%s最多，为{max.sales}。", "最多的是%s：{max.sales}。", "{max.sales:city}领先于%s。"),
}
NAMES = {
    "Paris": ("Paris", "PARIS", "paris", "“Paris”", "Paris’", "Pa\u200bris", "Ｐａｒｉｓ"),
    "David Kim": ("David Kim", "david kim", "Kim"),
    "上海": ("上海", "上海市"),
    "Москва": ("Москва", "МОСКВА"),
}
CHINESE_FIGURES = ("一千二百", "三百", "五万", "二〇二五")


def wrong_texts() -> list[tuple[str, str]]:
    """Return texts with a typed figure or name, with their languages."""
    figures = [
        (sentence % wrong, language)
        for language, each in SENTENCES.items()
        for sentence, wrong in product(each, FIGURES)
    ]
    written = [name for variants in NAMES.values() for name in variants]
    names = [
        (sentence % wrong, language) for language, each in NAMED.items() for sentence, wrong in product(each, written)
    ]
    return [
        *figures,
        *names,
        *((sentence % one, "zh") for sentence in SENTENCES["zh"] for one in CHINESE_FIGURES if one != "九成五"),
    ]


@pytest.mark.parametrize(
    "where",
    ["day < '2025-01-01'", "day < '2025-01'", "strftime('%Y', day) < '2025'", "EXTRACT(YEAR FROM day) < 2025"],
)
def test_the_excluded_end_of_a_period_may_not_be_typed(where: str) -> None:
    facts = facts_about(f"SELECT COUNT(*) AS n FROM orders WHERE {where}", [[7]])

    assert fill("{n} orders in 2025.", facts, Said("How many?")).problems
    assert not fill("{n} orders in 2025.", facts, Said("How many before 2025?")).problems


@pytest.mark.parametrize("typed", ["三 百", "上 海"])
def test_spaces_between_chinese_characters_hide_nothing(typed: str) -> None:
    facts = facts_about(CITIES, [["上海", 5], ["Berlin", 3]], "zh")
    assert fill(f"{{max.sales:city}}最多，不是{typed}。", facts, Said("?")).problems


CITY_ROWS = [["Berlin", 500.5], *([name, 100 - at] for at, name in enumerate(NAMES))]


def test_no_typed_figure_or_name_is_shown() -> None:
    texts = wrong_texts()
    assert len(texts) >= 500
    for text, language in texts:
        result = fill(text, facts_about(CITIES, CITY_ROWS, language), Said("?"))
        assert result.problems and not result.text, text


def test_no_typed_figure_or_name_is_shown_without_rows() -> None:
    for language, sentences in SENTENCES.items():
        for sentence, wrong in product(sentences, FIGURES):
            text = sentence.replace("{", "").replace("}", "") % wrong
            assert unsupported(text, Said("?")), (language, text)
    for name, variants in NAMES.items():
        for wrong in variants:
            assert unsupported(f"Only {wrong} is counted.", Said("?"), [name]), wrong


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Top 5 cities", "{max.sales:city} has 5 %."),
        ("Top 5 cities", "{max.sales:city} has 5k."),
        ("Top 5 cities", "{max.sales:city} has 5.5."),
        ("Top 5 cities", "{max.sales:city} has 55."),
        ("Top 5 cities", "{max.sales:city} has €5."),
        ("Sales between 10 and 500", "{max.sales:city} has 10,500."),
        ("Sales between 10 and 500", "{max.sales:city} has 10 500."),
        ("Sales between 10 and 500", "{max.sales:city} has 10.500."),
        ("Sales on 2024-03-15", "{max.sales:city}, since 15.04.2024."),
        ("Sales of 1,234 units", "{max.sales:city} has 1.2."),
        ("前 5 名", "{max.sales:city}有5万。"),
        ("Sales in 2024", "{max.sales:city} in 2025"),
        ("Sales in Berlin", "Paris has more than {max.sales:city}."),
    ],
)
def test_figures_of_the_question_make_no_others(question: str, text: str) -> None:
    assert fill(text, facts_about(CITIES, CITY_ROWS), Said(question)).problems


RATES = "SELECT city, AVG(total) AS sales FROM orders GROUP BY city ORDER BY sales DESC"
USERS = "SELECT city, COUNT(DISTINCT day) AS sales FROM orders GROUP BY city"
RUNNING = "SELECT city, SUM(total) OVER (ORDER BY day) AS sales FROM orders"
BOTH = (
    "SELECT city, SUM(total) AS sales FROM orders GROUP BY city UNION ALL SELECT 'all', SUM(total) AS sales FROM orders"
)
RANKED = (
    "SELECT city, sales FROM (SELECT city, SUM(total) AS sales, RANK() OVER (ORDER BY SUM(total) DESC) AS r "
    "FROM orders GROUP BY city) WHERE r <= 3"
)
TIED = [["Alpha", 5], ["Beta", 5], ["Gamma", 5], ["Delta", 5], ["Omega", 1]]


@pytest.mark.parametrize(
    ("sql", "rows", "text"),
    [
        *((sql, SALES, text)
          for sql in (RATES, USERS, RUNNING, BOTH, RANKED, f"{CITIES} LIMIT 3", f"{CITIES} LIMIT 3 OFFSET 2")
          for text in ("{sum.sales}", "{avg.sales}", "{share.max.sales}", "{share.1.sales} in {1.city}")),
        *((f"{CITIES} LIMIT 3 OFFSET 2", SALES, text) for text in ("{max.sales:city}", "{min.sales:city}", "{rows}")),
        (CITIES.replace(" DESC", "") + " LIMIT 3", SALES[::-1], "{max.sales:city} sold most."),
        (CITIES.replace("ORDER BY sales DESC", "LIMIT 3"), SALES, "{max.sales:city} sold most."),
        (CITIES.replace("ORDER BY sales DESC", "LIMIT 3"), SALES, "They are {list.city}."),
        (CITIES.replace(" ORDER BY sales DESC", ""), SALES, "{1.city} is first with {1.sales}."),
        (CITIES, TIED, "{1.city} leads with {1.sales}."),
        (CITIES, [["Alpha", 5], ["Beta", 5]], "{max.sales:city} leads."),
        (CITIES, [["Alpha", 5]], "{max.sales:city} sold most."),
        (CITIES, [["Alpha", -5], ["Beta", 10]], "{share.max.sales}"),
        (CITIES, [["Alpha", 0], ["Beta", 0]], "{share.1.sales} in {1.city}"),
        (CITIES, [["Alpha", 3], [None, 2]], "{min.sales:city} sold least."),
        (CITIES, [["Alpha", 3], ["", 2]], "{min.sales:city} sold least."),
        (CITIES, SALES, "{2.city} is second."),
        (CITIES, SALES, "{0.city} is best."),
        (CITIES, SALES, "{-2.city} is last but one."),
        (CITIES, SALES, "{max.city}"),
        (CITIES, SALES, "{sum.city}"),
        (CITIES, SALES, "{max.sales:nothing}"),
        (CITIES, SALES, "{max.sales:city:sales}"),
        (CITIES, SALES, "{}"),
        (CITIES, SALES, "{max.}"),
        (CITIES, SALES, "}{"),
        (CITIES, SALES, "{{max.sales}}"),
        (CITIES, SALES, "{max.sales#one}{"),
        (CITIES, SALES, "{?city|yes|no|none}"),
        (CITIES, SALES, "{?change.sales|rose|fell|stayed}"),
        (MONTHS, TREND[:1], "{?change.u|rose|fell|stayed}"),
        (MONTHS, [*TREND, [None, 3]], "{?change.u|rose|fell|stayed}"),
        (MONTHS, [["2024-01", None], *TREND[1:]], "{?change.u|rose|fell|stayed}"),
        (MONTHS, [["2024-01", -5], *TREND[1:]], "{?change.u|rose by {change%.u}|fell|stayed}"),
        (MONTHS, [["Feb 2024", 7], ["Jan 2024", 5]], "{?change.u|rose|fell|stayed}"),
        (MONTHS, TREND, "{change.u}"),
        (MONTHS, TREND, "{?change.u|rose|fell|stayed} by 5 to {-1.u} ({-1.month})"),
        (f"{MONTHS} LIMIT 3", TREND, "{?change.u|rose|fell|stayed}"),
        (MONTHS.replace("ORDER BY 1", "ORDER BY 1 DESC"), TREND[::-1],
         "{?change.u|rose|fell|stayed}: {1.u} ({1.month}), {-1.u} ({-1.month})"),
        (MONTHS, TREND, "From {max.u:month} to {min.u:month} it {?change.u|rose|fell|stayed}."),
        (MONTHS, TREND, "It {?change.u|rose|fell|stayed} from {1.month} to {min.u:month}."),
        (MONTHS, TREND, "From {min.u:month} to {max.u:month} it {?change.u|rose|fell|stayed} by {change.u}."),
        (GRID, PLACES, "{max.u:city} was best."),
        (GRID, PLACES, "{max.u:month} was best."),
        (GRID, PLACES, "{1.city} was best with {1.u}."),
        (GRID, PLACES, "{?change.u|rose|fell|stayed}"),
        (GRID, PLACES, "{list.city:u}"),
        (GRID, [["Alpha", "2024-01", 9], ["Beta", "2024-02", 9], *PLACES[1:]], "{max.u:city} in {max.u:month}"),
        (COUNT, [[1184]], "{n} of {sum.n} and {rows.x}"),
        (COUNT, [[1184]], "No reference here."),
        (COUNT, [[1184]], "{f1} orders"),
        ("SELECT total AS n FROM orders", [[float("nan")]], "{n}"),
        ("SELECT total AS n FROM orders", [[1], [2]], "{n}"),
        (MONTHS, [*TREND, ["2024-04", 500]], "{?change.u|rose|fell|stayed the same}"),
        (CITIES, [["A1", 5], ["B1", 4], ["C1", None]], "{min.sales:city} sold least."),
        (COUNT, [[1184]], "There were {n} orders in 2025."),
        (COUNT, [[1184]], "There were 1184 orders."),
        (COUNT, [[1184]], "There were ١١٨٤ orders, not {n}."),
        (COUNT, [[1184]], "About ½ of {n}"),
        (COUNT, [[1184]], "{n} m²³"),
        (COUNT, [[1184]], "{n} ²"),
        (COUNT, [[1184]], "{n"),
        (COUNT, [[1184]], "{unknown}"),
        (COUNT, [[1184]], "Many orders were placed."),
        (COUNT, [[None]], "{n}"),
        (CITIES, SALES, "Paris sold most: {max.sales}"),
        (CITIES, SALES, "{sales}"),
        (CITIES, SALES, "{1.sales} was best"),
        (CITIES, SALES, "{list|{city} has {share.1.sales}}"),
        (CITIES, SALES, "{list|{city} is one of {rows}}"),
        (CITIES, SALES, "{list|{city} has 500.5 of {sales}}"),
        (CITIES, SALES, "{list|{city}: {max.sales:city}}"),
        (CITIES, SALES, "{list|{city} {list|{sales} in {city}}}"),
        (CITIES + " LIMIT 3", SALES[:2] + [["Berlin", 1]], "{list|{sales} in {city}}"),
        (CITIES, SALES, "{change.sales}"),
        (CITIES, SALES[::-1], "{1.city} leads with {1.sales}"),
        (CITIES, [["A1", 5], ["B1", 5]], "{max.sales:city} leads"),
        (CITIES, [["A1", 5], ["B1", 5], ["C1", 1]], "{1.city} leads with {1.sales}"),
        (CITIES, [["A1", 5], ["B1", None]], "{max.sales:city} leads"),
        (CITIES + " LIMIT 3", SALES, "{sum.sales}"),
        (CITIES + " LIMIT 3", SALES, "{share.max.sales}"),
        (CITIES + " LIMIT 3", SALES, "{min.sales:city} sold least."),
        (CITIES + " LIMIT 3", SALES, "{rows}"),
        (CITIES.replace("SUM", "AVG"), SALES, "{sum.sales}"),
        (CITIES.replace("SUM(total)", "COUNT(DISTINCT day)"), [["A1", 5], ["B1", 4]], "{sum.sales}"),
        (MONTHS, TREND, "{1.u} ({1.month}), {-1.u} ({-1.month})"),
        (MONTHS, TREND, "by {change%.u}"),
        (MONTHS, TREND + [["2024-03", 7]], "{?change.u|rose|fell|stayed}"),
        (MONTHS, [["2024-01", 0], ["2024-02", 200]], "{?change.u|rose|fell} by {change%.u}"),
        (MONTHS, [["2024-01", 5], ["2024-02", 5]], "{?change.u|rose|fell}"),
    ],
)  # fmt: skip
def test_no_reference_says_more_than_the_rows(sql: str, rows: list[list[Any]], text: str) -> None:
    result = fill(text, facts_about(sql, rows), Said("?"))
    assert result.problems and not result.text, result


@pytest.mark.parametrize(
    ("sql", "extreme", "other"),
    [
        ("SELECT city, total FROM orders WHERE total = (SELECT {} (total) FROM orders)", "MIN", "MAX"),
        ("SELECT city, total FROM (SELECT city, total, RANK() OVER (ORDER BY total {}) AS r FROM orders) WHERE r = 1",
         "ASC", "DESC"),
        ("SELECT city, total FROM orders ORDER BY total {} FETCH FIRST 1 ROWS WITH TIES", "ASC", "DESC"),
    ],
)  # fmt: skip
def test_rows_with_the_lowest_value_do_not_have_the_highest(sql: str, extreme: str, other: str) -> None:
    rows = [["Berlin", 3], ["Paris", 3]]
    for word, right, wrong in ((extreme, "min", "max"), (other, "max", "min")):
        facts = facts_about(sql.format(word), rows)
        assert fill(f"Berlin and Paris: {{{right}.total}}.", facts, Said("Berlin, Paris")).text
        assert fill(f"Berlin and Paris: {{{wrong}.total}}.", facts, Said("Berlin, Paris")).problems


PER_CITY = (
    "SELECT city, name, total FROM (SELECT city, name, total, "
    "ROW_NUMBER() OVER (PARTITION BY city ORDER BY total {}) AS place FROM orders) AS t WHERE place {} ORDER BY city"
)


@pytest.mark.parametrize(
    ("order", "where", "text", "is_known"),
    [
        ("DESC", "<= 2", "{max.total:name} has most, {max.total}.", True),
        ("DESC", "= 1", "{max.total:name} has most of {rows} cities.", True),
        ("DESC", "<= 2", "There are {rows} of them.", False),
        ("ASC", "<= 2", "{max.total:name} has most, {max.total}.", False),
        ("ASC", "<= 2", "{min.total:name} has least, {min.total}.", True),
        ("DESC", "= 2", "{max.total:name} has most, {max.total}.", False),
        ("DESC", "> 1", "{max.total:name} has most, {max.total}.", False),
        ("DESC", "<= 2", "They have {sum.total} in all.", False),
    ],
)
def test_the_first_rows_of_each_group_have_the_extreme_of_all(
    order: str, where: str, text: str, is_known: bool
) -> None:
    rows = [["Berlin", "Ann", 9], ["Paris", "Bob", 5]]
    filled = fill(text, facts_about(PER_CITY.format(order, where), rows), Said("?"))
    assert bool(filled.text) is is_known, filled


BEST_CITIES = RANKED.removesuffix(" WHERE r <= 3") + " AS t"


@pytest.mark.parametrize(
    ("rest", "is_known"),
    [
        ("WHERE r <= 3", True),
        ("WHERE r > 1 AND r <= 3", False),
        ("WHERE r <= 3 AND city <> 'Berlin'", False),
        ("JOIN open_cities AS o ON o.open = t.city WHERE r <= 3", False),
    ],
)
def test_a_rank_whose_first_row_may_be_left_out_has_no_extreme(rest: str, is_known: bool) -> None:
    facts = facts_about(f"{BEST_CITIES} {rest}", SALES)
    assert bool(fill("{max.sales:city} sold most.", facts, Said("?")).text) is is_known


@pytest.mark.parametrize(("where", "is_known"), [("r = 1", True), ("r = 2", False)])
def test_tied_rows_of_another_rank_than_the_first_are_no_extreme(where: str, is_known: bool) -> None:
    facts = facts_about(f"{BEST_CITIES} WHERE {where}", [["Alpha", 5], ["Beta", 5]])
    assert bool(fill("{max.sales:city} sold most.", facts, Said("?")).text) is is_known


def test_the_number_of_groups_is_not_known_where_another_condition_leaves_out_some() -> None:
    sql = PER_CITY.format("DESC", "= 1 AND total > 5")
    assert fill("There are {rows} cities.", facts_about(sql, [["Berlin", "Ann", 9]]), Said("?")).problems


def test_two_periods_need_the_direction_also_in_two_sentences() -> None:
    facts = facts_about(MONTHS, TREND)
    first = fill("It began at {1.u} in {1.month}.", facts, Said("?"))
    known = fill("It {?change.u|rose|fell|stayed} from {1.u} in {1.month}.", facts, Said("?"))

    assert fill("It fell to {-1.u} in {-1.month}.", facts, Said("?"), first).problems
    assert fill("It ended at {-1.u} in {-1.month}.", facts, Said("?"), known).text
    apart = "It was {max.u} in {max.u:month}, {min.u} in {min.u:month}. In all it {?change.u|rose|fell|stayed}."
    assert fill(apart, facts, Said("?")).text
    assert fill("In {-1.month} it was {-1.u}, in {2.month} {2.u}.", seen(facts, 9), Said("?")).problems


@pytest.mark.parametrize(
    ("sql", "rows", "text"),
    [
        (CITIES, CITY_ROWS, "Half of it was sold in {max.sales:city}."),
        (CITIES, CITY_ROWS, "About twelve were sold in {max.sales:city}."),
        (CITIES, CITY_ROWS, "约占一半，{max.sales:city}最多。"),
        (f"{CITIES} LIMIT 5", SALES, "The top five are {list.city}."),
        (CITIES, CITY_ROWS, "{min.sales:city} sold most."),
        (MONTHS, TREND, "It {?change.u|fell|rose|stayed}."),
        (CITIES, CITY_ROWS, "The Berliner shop leads with {max.sales}."),
        (CITIES, CITY_ROWS, "В Москве продано меньше {max.sales}."),
        (CITIES, CITY_ROWS, "{max.sales:city} is the capital."),
    ],
)
def test_what_references_cannot_catch(sql: str, rows: list[list[Any]], text: str) -> None:
    """SECURITY.md says so, and docs/research/answers.md counts them."""
    assert fill(text, facts_about(sql, rows), Said("?")).text
