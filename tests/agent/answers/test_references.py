"""Texts with references to the values of a result."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from datasphinx.agent.answers.computed_facts import computed_facts
from datasphinx.agent.answers.references import Filled, Said, facts_of, fill, unsupported
from datasphinx.agent.schema.catalog import Catalog, Column, Table
from datasphinx.agent.types import Interval, Result
from tests.agent.answers.tables import (
    CATALOG,
    CITIES,
    COUNT,
    GRID,
    MONTHS,
    NAMESAKES,
    PETS,
    PLACES,
    SALES,
    TREND,
    YEARS,
    facts_about,
)

SPRINGS = (
    "SELECT CASE WHEN day < '2026' THEN 'spring 2025' ELSE 'spring 2026' END AS p, SUM(total) AS u FROM orders "
    "GROUP BY 1 ORDER BY 1"
)
VARIED = (
    "It {?change.u|rose from {1.u} in {1.month} to {-1.u} in {-1.month}|fell|stayed at {1.u}"
    "|varied from {min.u} ({min.u:month}) to {max.u} ({max.u:month})}."
)


PETS_OF_VISITS = "SELECT p.name AS name, v.{} FROM visits v JOIN pets p ON p.id = v.pet"
BELLOS = [["Bello", 1], ["Bello", 2]]
TOWNS = "SELECT id, name, town FROM pets"
IN_BERN = [[1, "Bello", "Bern"], [2, "Coco", "Bern"]]
HOURS = "SELECT city, hour, AVG(total) AS t FROM orders GROUP BY city, hour ORDER BY city, hour"
BUSY = [["A", 6, 9.5], ["A", 9, 7.5], ["A", 17, 9.5], ["B", 6, 8.5]]
FIRST_OF_GROUPS = (
    "SELECT city, day, COUNT(*) AS n FROM orders GROUP BY city, day "
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY city ORDER BY COUNT(*) DESC, day) <= 2 ORDER BY city"
)
DAYS = [["A", "2024-01-05", 3], ["A", "2024-01-09", 2], ["B", "2024-01-05", 7]]
LOW_GROUPS = (
    "SELECT city, day, total AS n, ROW_NUMBER() OVER (ORDER BY total DESC) FROM orders "
    "QUALIFY SUM(total) OVER (PARTITION BY city) <= 3"
)
DELAYS = ("P1DT6H20M0.5S", "PT2H50M", "PT2H10M")
TOOK = "SELECT city, SUM(late) AS took FROM orders GROUP BY city ORDER BY took DESC"
BEST = "{max.sales:city#sells|sell} most, {max.sales}{rest.sales|, followed by {list.city:sales}}."
QUARTERS = "SELECT quarter, SUM(total) AS u FROM orders GROUP BY 1 ORDER BY 1"
CITY_MONTHS = "SELECT city, strftime('%Y-%m', day) AS month FROM orders ORDER BY city"
UNITED = (
    "SELECT 'a' AS city, SUM(total) AS u FROM orders WHERE id < 5 UNION ALL "
    "SELECT 'b', SUM(total) FROM orders WHERE id >= 5 ORDER BY u DESC"
)
OF_BERLIN = "SELECT SUM(total) AS u FROM orders WHERE city = 'Berlin'"


def cities(sales: Iterable[float]) -> list[list[Any]]:
    return [[f"C{9 - at}", sold] for at, sold in enumerate(sales)]


def took(*times: str) -> list[list[Any]]:
    return [[city, Interval(time)] for city, time in zip(("Berlin", "Paris", "Rome"), times, strict=False)]


def filled(text: str, sql: str, rows: list[list[Any]], language: str = "en") -> Filled:
    return fill(text, facts_about(sql, rows, language), Said("?"))


@pytest.mark.parametrize(
    ("sql", "rows", "language", "text", "expected"),
    [
        (COUNT, [[1184]], "en", "{n#order was|orders were} placed in 2024.", "1,184 orders were placed in 2024."),
        ("SELECT a - b AS c FROM t", [[-12.5]], "en", "It {?c|rose|fell|stayed} by {?c|{c}|{c}}: {c}.",
         "It fell by 12.5: -12.5."),
        (COUNT, [[1]], "en", "{n#order was|orders were} placed.", "1 order was placed."),
        (COUNT, [[1]], "en", "There {n#is|are} {n#order|orders}.", "There is 1 order."),
        (COUNT, [[3]], "en", "{n#order|orders} of 2024 {n#is|are} open.", "3 orders of 2024 are open."),
        (COUNT, [[5]], "ru", "{n#оплачен|оплачены|оплачено} {n#заказ|заказа|заказов}", "Оплачено 5 заказов"),
        (COUNT, [[1184]], "de", '{orders."n"} Bestellungen in Berlin', "1.184 Bestellungen in Berlin"),
        (GRID, PLACES, "en", "{different.city#city|cities}", "2 cities"),
        (COUNT, [[22]], "ru", "{n#заказ|заказа|заказов}", "22 заказа"),
        (CITIES, [["A1", 5], ["B1", 5], ["C1", 1]], "en", "{max.sales:city} {max.sales:city#has|have} {max.sales}.",
         "A1 and B1 have 5."),
        (CITIES, [["A1", 5], ["B1", 5], ["C1", 1]], "de", "Am meisten haben „{max.sales:city}“.",
         "Am meisten haben „A1“ und „B1“."),
        (CITIES, SALES, "ru", "Города: «{list.city}».", "Города: «Berlin», «Paris» и «Rome»."),
        (CITIES, [["A1", 5], ["B1", 1]], "en", "{list|{city}, with {sales}}.", "A1, with 5; and B1, with 1."),
        (CITIES, [["A1", 5], ["B1", 1]], "zh", "{list|{city}，{sales}}。", "A1，5；B1，1。"),
        (COUNT, [[25]], "ru", "{n#заказ|заказа|заказов}", "25 заказов"),
        (COUNT, [[25]], "zh", "共 {n#个订单}。", "共 25个订单。"),
        (CITIES, SALES, "en", "{max.sales:city}, {share.max.sales} of {sum.sales}", "Berlin, 62.5% of 800.5"),
        ('SELECT SUM(a) AS "net sales" FROM t', [[1184]], "en", "Sales were {Net_Sales}.", "Sales were 1,184."),
        (CITIES, SALES, "en", "{list.city:sales}", "Berlin (500.5), Paris (200.0) and Rome (100.0)"),
        (CITIES, [["A1", 5], ["B1", None]], "en", "{list.city:sales}", "A1 (5) and B1"),
        (CITIES, [["A1", 5], ["B1", None]], "en", "{list|{city} with {sales}}", "A1 with 5 and B1 with –"),
        (CITIES, [["A1", 5], ["B1", None]], "en", "{list|{city} ({sales})}", "A1 (5) and B1"),
        (CITIES, SALES[:2], "zh", "{list.city:sales}", "Berlin（500.5）和Paris（200.0）"),
        (CITIES, SALES[:2], "en", "{list|{sales#euro|euros} in {city}}",
         "500.5 euros in Berlin and 200.0 euros in Paris"),
        (MONTHS, TREND[:2], "de", "{list|{u} im {month}}.", "500 im Januar 2024 und 200 im Februar."),
        (MONTHS, TREND, "en", "{list.month}", "January, February and March 2024"),
        (MONTHS, TREND, "de", "{list.month}", "Januar, Februar und März 2024"),
        (MONTHS, TREND, "ru", "{list.month}", "Январь, февраль и март 2024"),
        (MONTHS, TREND, "zh", "{list.month}", "2024年1月、2月和3月"),
        (MONTHS, TREND[:2], "en", "{list.month:u}", "January 2024 (500) and February (200)"),
        (MONTHS, TREND[:2], "zh", "{list.month:u}", "2024年1月（500）和2月（200）"),
        (MONTHS, TREND[:1], "en", "{list.month}", "January 2024"),
        (MONTHS, [["2024-12", 5], ["2025-01", 5], ["2025-02", 1]], "en", "{list.month}; {max.u:month}: {max.u}",
         "December 2024, January 2025 and February 2025; December 2024 and January 2025: 5"),
        (MONTHS, [["2025-01", 5], ["2025-02", 5], ["2025-03", 1]], "en", "{max.u:month} had {max.u}",
         "January and February 2025 had 5"),
        (GRID, PLACES, "en", "{list|{u} in {city} in {month}}",
         "9 in Berlin in January 2024, 8 in Paris in January and 7 in Berlin in February"),
        (CITIES, SALES[:2], "zh", "{list|{city}{sales}元}", "Berlin 500.5元，Paris 200.0元"),
        (CITIES, [["A1 and B1", 5], ["C1", 1]], "en", "{list|{sales} in {city}}", "5 in A1 and B1, and 1 in C1"),
        (CITIES, [["A1", 12000.25], ["B1", 4000.5]], "en", "{list.city:sales}: {sum.sales}",
         "A1 (12,000) and B1 (4,001): 16,001"),
        (CITIES, [["A1", 12000.25], ["B1", 4000.5]], "en", "{list|{sales} m² in {city}}",
         "12,000 m² in A1 and 4,001 m² in B1"),
        (CITIES, [["A1", 12000.25], ["B1", 40.5]], "en", "{list.city:sales}", "A1 (12,000.25) and B1 (40.50)"),
        (CITIES, [["A1", 12000.25], ["B1", 12000.35]], "en", "{max.sales:city} with {max.sales}", "B1 with 12,000"),
        (GRID, PLACES, "en", "{list|{u} in {month}}", None),
        (CITIES, SALES, "en", "{list|{sales}}", None),
        (CITIES, [["london", 7], ["Paris", 1]], "en", "{max.sales:city} leads.", "london leads."),
        (CITIES, [["eBay", 7], ["Paris", 1]], "en", "{max.sales:city} leads.", "eBay leads."),
        (YEARS, [["2024", 5], ["2025", 9]], "zh", "{list|{y}年 共{n}笔}，{max.n:y} 最多",
         "2024年共5笔，2025年共9笔，2025年最多"),
        (CITIES, SALES, "en", "{1.city} with {1.sales} of {rows#city|cities}", "Berlin with 500.5 of 3 cities"),
        (CITIES, [["A1", 5], ["B1", 5], ["C1", 1]], "en", "{max.sales:city}: {max.sales} each", "A1 and B1: 5 each"),
        (CITIES + " LIMIT 3", SALES, "en", "{max.sales:city} sold most.", "Berlin sold most."),
        (CITIES, [["A1", 5], ["B1", 5], ["C1", 1]], "en", "{max.sales:city#has|each have} {max.sales}.",
         "A1 and B1 each have 5."),
        (CITIES, [["A1", 5], ["B1", 4], ["C1", 1]], "en", "{max.sales:city#has|each have} {max.sales}.", "A1 has 5."),
        (CITIES, [["A1", 8.000001], ["B1", 8.0], ["C1", 1.5]], "en", "{max.sales:city} ({max.sales})",
         "A1 and B1 (8.00)"),
        (CITIES, [[f"City {chr(65 + at)}", 10 - at] for at in range(10)], "en", "{list.city}",
         "City A, City B, City C, City D, City E and 5 more"),
        (CITIES, [[f"City {chr(65 + at)}", 9 - at] for at in range(7)], "en", "{list.city}",
         "City A, City B, City C, City D, City E, City F and City G"),
        (CITIES, [["A1", 4197.74], ["B1", 572.38], ["C1", 6100.5]], "en",
         "{max.sales} in {max.sales:city}, {min.sales} in {min.sales:city}, {sum.sales} in all",
         "6,101 in C1, 572 in B1, 10,871 in all"),
        (CITIES, [["A1", 12000.25], ["B1", 40.5]], "en", "{list|{sales} in {city}}", "12,000.25 in A1 and 40.50 in B1"),
        (CITIES, [["A1", 12000.25], ["B1", 12000.35]], "en", "{list.city:sales}", "A1 (12,000.25) and B1 (12,000.35)"),
        (CITIES, [["A1", 828200], ["B1", 87557.5], ["C1", 12.1]], "en",
         "{max.sales:city} sold most, {max.sales}; together {sum.sales}, on average {avg.sales}.",
         "A1 sold most, 828,200; together 915,770, on average 305,257."),
        (CITIES, [["A1", 12000.25], ["B1", 2000.5]], "en", "{avg.sales} on average, up to {max.sales}",
         "7,000 on average, up to 12,000"),
        (MONTHS, [["2024-01", 8000.25], ["2024-02", 12000.5]], "en", "{?change.u|rose|fell|stayed} by {change.u}",
         "Rose by 4,000"),
        (CITIES, [["A1", 9997.74], ["B1", 2.38]], "en", "{list.city:sales}, {sum.sales} in all",
         "A1 (9,997.74) and B1 (2.38), 10,000.12 in all"),
        (CITIES, [["A1", 5], ["B1", 4], ["C1", None]], "en", "{max.sales:city#leads|lead}", "A1 leads"),
        (CITIES.replace("SUM", "AVG"), [["A1", 5], ["B1", 4], ["C1", None]], "en", "{min.sales:city}", "B1"),
        (MONTHS, TREND, "en", VARIED, "It varied from 200 (February 2024) to 1,100 (March)."),
        ("SELECT city AS season, SUM(total) AS u FROM orders GROUP BY 1 ORDER BY 1", [["2023/24", 5], ["2024/25", 7]],
         "en", "It {?change.u|rose|fell|stayed} to {-1.u} in {-1.season}.", "It rose to 7 in 2024/25."),
        (SPRINGS, [["spring 2025", 5], ["spring 2026", 7]], "en",
         "It {?change.u|rose|fell|stayed} from {1.u} in {1.p} to {-1.u} in {-1.p}.",
         "It rose from 5 in spring 2025 to 7 in spring 2026."),
        (SPRINGS, [["spring 2025", 5], ["autumn 2025", 7]], "en", "It {?change.u|rose|fell|stayed}.", None),
        (MONTHS, TREND[1:], "en", VARIED, "It rose from 200 in February 2024 to 1,100 in March."),
        (MONTHS, [[month, 5] for month, _ in TREND], "en", VARIED, "It stayed at 5."),
        (MONTHS, TREND, "de", "Umsatz {?change.u|stieg|sank|blieb gleich}: {1.u} ({1.month}), {-1.u} ({-1.month}).",
         "Umsatz stieg: 500 (Januar 2024), 1.100 (März)."),
        (MONTHS, TREND[::-1][1:] + TREND[-1:], "en", "{u}", None),
        (MONTHS, TREND, "en", "It {?change.u|rose by {change%.u}|fell|stayed}.", "It rose by 120%."),
        (GRID, PLACES, "en", "{max.u:city} in {max.u:month} was best.", "Berlin in January 2024 was best."),
        ("SELECT COUNT(*) AS count FROM orders", [[7]], "en", "{count}", "7"),
        # Names that things share count as many as there are
        (PETS, NAMESAKES, "en", "{list.pet} were seen.", "Bello, Coco and 2 more were seen."),
        (PETS, NAMESAKES, "en", "{pet} were seen.", "Bello, Coco and 2 more were seen."),
        (PETS, [[f"Pet {chr(65 + at // 2)}", at, 1] for at in range(20)], "en", "{list.pet}",
         "Pet A, Pet B, Pet C, Pet D, Pet E and 15 more"),
        (PETS, NAMESAKES, "en", "{different.pet#pet|pets}", "4 pets"),
        (PETS, NAMESAKES, "en", "{list.pet:weight}", "Bello (40), Bello (30), Coco (20) and Coco (10)"),
        (PETS, NAMESAKES, "en", "{list|{pet} ({weight} kg)}",
         "Bello (40 kg), Bello (30 kg), Coco (20 kg) and Coco (10 kg)"),
        (PETS, NAMESAKES, "en", "{list|{pet}}", "Bello, Coco and 2 more"),
        (PETS, NAMESAKES, "en", "Seen: “{list.pet}”", None),
        (PETS, NAMESAKES, "en", "{max.weight:pet} is the heaviest", None),
        (PETS.replace("ORDER BY p.name", "ORDER BY p.weight DESC"), NAMESAKES, "en",
         "The heaviest has {max.weight}{rest.weight|, then come {list.pet}}.",
         "The heaviest has 40, then come Bello, Coco and 1 more."),
        (PETS_OF_VISITS.format("pet"), [*BELLOS, BELLOS[1]], "en", "{list.name}", "Bello and 1 more"),
        (PETS_OF_VISITS.format("id"), BELLOS, "en", "{list.name}", "Bello"),
        (PETS_OF_VISITS.format("pet, v.id"), [["Bello", 7, 1], ["Bello", 7, 2]], "en", "{list|{name}}", None),
        ("SELECT name || ' ' || town AS pet, id FROM pets", BELLOS, "en", "{list.pet}", "Bello and 1 more"),
        ("SELECT p.name AS name, p.id AS id, COUNT(*) AS n FROM visits v JOIN pets p ON p.id = v.pet GROUP BY p.id",
         [["Bello", 1, 5], ["Bello", 2, 4]], "en",
         "{list.name:n}",
         "Bello (5) and Bello (4)"),
        ("SELECT name, id FROM (SELECT name, id FROM pets) AS x", BELLOS, "en", "{list.name}", "Bello and 1 more"),
        ("SELECT MAX(p.name) AS name, p.id AS id FROM pets p GROUP BY p.id", BELLOS, "en", "{list.name}", "Bello"),
        (TOWNS, IN_BERN, "en", "{list.town}: {list.name}", "Bern: Bello and Coco"),
        (TOWNS, IN_BERN, "en", "{different.town#town|towns}", "1 town"),
        ("SELECT id, town FROM pets", [[1, "Bern"], [2, "Bern"]], "en", "{list.town}: {different.town}", "Bern: 1"),
        # The verb of a list has no number
        (CITIES, SALES, "en", "{list.city} {rows#has|have} orders.", "Berlin, Paris and Rome have orders."),
        (CITIES, SALES[:1], "en", "{list.city}{rows#has|have} orders.", "Berlin has orders."),
        (CITIES, SALES[:1], "en", "{list.city:sales} {rows#has|have} orders.", "Berlin (500.5) has orders."),
        (CITIES, SALES[:1], "en", "{list|{sales} in {city}} {rows#is|are} most.", "500.5 in Berlin is most."),
        (CITIES, SALES, "en", "{list.city} {rows#is|are} {rows#city|cities}.", "Berlin, Paris and Rome are 3 cities."),
        (CITIES, SALES, "en", "{list.city}: {rows#city|cities}", "Berlin, Paris and Rome: 3 cities"),
        # A value with a full stop ends its sentence
        (CITIES + " LIMIT 1", [["Acme Inc.", 5]], "en", "{max.sales:city}.", "Acme Inc."),
        (CITIES + " LIMIT 1", [["Acme Inc.", 5]], "en", "{max.sales:city}. {max.sales}.", "Acme Inc. 5."),
        (CITIES + " LIMIT 1", [["Acme Inc.", 5]], "en", "{max.sales:city}{rest.sales|, then {list.city}}.",
         "Acme Inc."),
        (CITIES + " LIMIT 1", [["Acme Inc.", 5]], "en", "{max.sales:city}, {max.sales}.", "Acme Inc., 5."),
        (CITIES + " LIMIT 1", [["Acme Inc.", 5]], "en", "{max.sales:city}...", "Acme Inc..."),
        # A form may have the number itself
        (CITIES, SALES, "en", "Yes, {rows#one city has|{rows} cities have} orders.", "Yes, 3 cities have orders."),
        (CITIES, SALES[:1], "en", "Yes, {rows#one city has|{rows} cities have} orders.", "Yes, one city has orders."),
        # What all tied rows share may be named beside what tells them apart
        (HOURS, BUSY, "en", "Highest in {max.t:city} at {max.t:hour}, {max.t}.", "Highest in A at 6 and 17, 9.5."),
        (HOURS, [*BUSY, ["B", 17, 9.5]], "en", "Highest in {max.t:city} at {max.t:hour}, {max.t}.", None),
        # The highest of the first rows of each group is that of all; that of groups with a low sum may be another
        (FIRST_OF_GROUPS, DAYS, "en", "{max.n} in {max.n:city}.", "7 in B."),
        (FIRST_OF_GROUPS, DAYS, "en", "{min.n} in {min.n:city}.", None),
        (LOW_GROUPS, [["A", "2024-01-05", 3, 5], ["B", "2024-01-09", 2, 9]], "en", "{max.n} in {max.n:city}.", None),
        # Intervals are quantities, also with months, and their average has no more digits than computed ones
        (TOOK, took(*DELAYS), "en", "{max.took:city} takes {max.took}{rest.took|, then {list.city:took}}.",
         "Berlin takes 1 day 6 hours, then Paris (3 hours) and Rome (2 hours)."),
        (TOOK, took(*DELAYS), "en", "{1.city} takes {1.took}.", "Berlin takes 1 day 6 hours."),
        (TOOK, took(*DELAYS), "en", "{min.took:city} takes {min.took}, all take {sum.took}.",
         "Rome takes 2 hours, all take 1 day 11 hours."),
        (TOOK, took("P1Y2M", "P3M"), "en", "{1.city}: {1.took}.",
         "Berlin: 1 year 2 months."),
        (TOOK, took("P1Y2M", "P3M"), "en", "{list.city:took}",
         "Berlin (1 year 2 months) and Paris (3 months)"),
        (TOOK, took("PT11S", "PT11S", "PT10S"), "en", "{avg.took} on average.", "10.7 seconds on average."),
        (TOOK, took("P1DT1S", "P1D", "PT10S"), "en", "{avg.took} on average.", "16 hours on average."),
        # Hours of work add up to hours of work; PostgreSQL and DuckDB write no time as P0D
        (TOOK, took("PT38H15M", "PT7H30M"), "en", "{max.took:city} took {max.took}, all {sum.took}.",
         "Berlin took 38 hours 15 minutes, all 45 hours 45 minutes."),
        (TOOK, took("PT38H15M", "PT7H30M", "P0D"), "en", "{max.took:city} took {max.took}, all {sum.took}.",
         "Berlin took 38 hours 15 minutes, all 45 hours 45 minutes."),
        # A long list has some names and how many more there are
        (CITIES, cities(range(9, 6, -1)), "en", "They sell: {list.city}.", "They sell: C9, C8 and C7."),
        (CITIES, cities(range(9, 2, -1)), "en", "They sell: {list.city}.", "They sell: C9, C8, C7, C6, C5, C4 and C3."),
        (CITIES, cities(range(9, -1, -1)), "en", "They sell: {list.city}.",
         "They sell: C9, C8, C7, C6, C5 and 5 more."),
        (CITIES, cities(range(9, 7, -1)), "en", "{list.city#sells|sell} most.", "C9 and C8 sell most."),
        (CITIES, cities(range(9, 0, -1)), "en", "We sold {list|{sales} in {city}}.",
         "We sold 9 in C9, 8 in C8, 7 in C7, 6 in C6, 5 in C5 and 4 more."),
        # The rows after the best follow where their order says so
        (CITIES, cities([9, 8, 7]), "en", BEST, "C9 sells most, 9, followed by C8 (8) and C7 (7)."),
        (CITIES, cities([9, 9, 7]), "en", BEST, "C9 and C8 sell most, 9, followed by C7 (7)."),
        (CITIES, cities([8, 9, 7]), "en", BEST, "C8 sells most, 9."),
        # The rest follows the extreme that the order begins with
        (CITIES.replace(" DESC", ""), cities([5, 7, 9]), "en",
         "{max.sales:city} sells most{rest.sales|, then {list.city}}.",
         "C7 sells most."),
        (CITIES.replace(" DESC", ""), cities([5, 7, 9]), "en",
         "{min.sales:city} sells least{rest.sales|, then {list.city}}.",
         "C9 sells least, then C8 and C7."),
        (CITIES, cities([9, 7, 5]), "en", "{min.sales:city} sells least{rest.sales|, then {list.city}}.",
         "C7 sells least."),
        # Words about the rest are left out if they may not be said
        (CITIES, cities([9, 8, 8, 7]), "en", "{1.city} leads{rest.sales|, the {rows} others have {sum.sales}}.",
         "C9 leads, the 3 others have 23."),
        (CITIES, cities([9, 8, 8, 7]), "en", "{1.city} leads{rest.sales|, then {unknown}}.", "C9 leads."),
        (CITIES, cities([9, 8, 8, 7]), "en", "{1.city} leads{rest.sales|, then {max.sales:city} and 12 others}.", None),
        (CITIES, cities([9, 8, 8, 7]), "en", "{1.city} leads{rest.|, then {list.city}}.", None),
        (CITIES, cities([9, 8, 8, 7]), "en", "{1.city} leads{rest.other|, then {list.city}}.", None),
        # Chinese names and clauses have their own lists
        (CITIES, [["Berlin", 500], ["Paris", 200], ["Rome", 100]], "zh", "共有{list|{city}（{sales}张）}。",
         "共有Berlin（500张）、Paris（200张）和Rome（100张）。"),
        (CITIES, [["Berlin", 500], ["Paris", 200], ["Rome", 100]], "zh", "共有{list|{city}有{sales}张}。",
         "共有Berlin有500张，Paris有200张，Rome有100张。"),
        # The year of months is named once, where the first one is
        (QUARTERS, [["2024-Q1", 500], ["2024-Q2", 200]], "en",
         "{1.u} in {1.quarter}, {-1.u} in {-1.quarter}{?change.u|, more|, less}.",
         "500 in Q1 2024, 200 in Q2, less."),
        (MONTHS, [["2023-12", 5], ["2024-01", 7]], "en",
         "{?change.u|Rising|Falling}, {1.u} in {1.month} and {-1.u} in {-1.month}.",
         "Rising, 5 in December 2023 and 7 in January 2024."),
        (MONTHS, TREND, "en", "{?change.u|Rising|Falling|Stable|Mixed} from {1.month} to {-1.month}.",
         "Mixed from January 2024 to March."),
        (MONTHS, TREND, "en", "{max.u:month#Best was|Best were} {max.u:month}, {max.u}.",
         "Best was March 2024, 1,100."),
        (MONTHS, TREND, "en", "{max.u:month#was|were} best of {list.month}.",
         "March 2024 was best of January, February and March."),
        (MONTHS, TREND, "en", "{month}: {max.u} in {max.u:month}.",
         "January, February and March 2024: 1,100 in March."),
        (MONTHS, TREND, "en", "{list|{month}: {u}}; in {max.u:month}.",
         "January 2024: 500, February: 200 and March: 1,100; in March."),
        (MONTHS, TREND, "en", "{max.u:month}: {list.month:u}.",
         "March 2024: January (500), February (200) and March (1,100)."),
        (CITY_MONTHS, [["Berlin", "2024-01"], ["Paris", "2024-03"], ["Rome", "2024-03"]], "en",
         "Best: {list.city:month}.",
         "Best: Berlin (January 2024), Paris (March) and Rome (March)."),
        (CITY_MONTHS, [["Berlin", "2024-01"], ["Paris", "2024-03"], ["Rome", "2025-03"]], "en",
         "Best: {list.city:month}.",
         "Best: Berlin (January 2024), Paris (March 2024) and Rome (March 2025)."),
        (CITY_MONTHS, [["Berlin", "2024-01"], ["Paris", "2024-03"], ["Rome", None]], "en", "Best: {list.city:month}.",
         "Best: Berlin (January 2024), Paris (March) and Rome."),
        (MONTHS.replace("ORDER BY 1", "ORDER BY 2 DESC"), sorted(TREND, key=lambda row: -row[1]), "en",
         "{max.u:month} was best{rest.u|, then came {list.month}}.",
         "March 2024 was best, then came January and February."),
        # Queries of a union that sum up other rows may be compared
        (UNITED, [["b", 5], ["a", 4]], "en", "{max.u:city} of {rows}", "b of 2"),
        # Words that are spelt like months are no names
        (MONTHS, [["2024-03", 5], ["2024-05", 3]], "en", "Sales may march on from {max.u}.",
         "Sales may march on from 5."),
        # A negative value may follow a Chinese character
        ("SELECT SUM(total) AS n FROM orders", [[-12.5]], "zh", "变化为{n}个百分点", "变化为-12.5个百分点"),
        ("SELECT SUM(total) AS n FROM orders", [[12.5]], "zh", "变化为-{n}", None),
        # A text about no rows needs no reference
        (OF_BERLIN, [[None]], "en", "Berlin has no orders.", "Berlin has no orders."),
        (OF_BERLIN, [[5]], "en", "Berlin has no orders.", None),
        # A stored text keeps its case, and is not read as references
        (CITIES, [["a, b", 5], ["u", 3]], "en", "{max.sales:city} sold most.", "a, b sold most."),
        (CITIES, [["a, b", 5], ["u", 3]], "en", "{list|{city} ({sales})}", "a, b (5); and u (3)"),
        (CITIES, [["a, b", 5], ["u", 3]], "en", "{min.sales:city}", "u"),
        (CITIES, [["a, b", 5], ["u", 3]], "en", "in {min.sales:city}", "In u"),
        (CITIES, [["{sum.sales}", 5], ["b", 3]], "en", "{max.sales:city}", "{sum.sales}"),
    ],
)  # fmt: skip
def test_references_are_filled(sql: str, rows: list[list[Any]], language: str, text: str, expected: str | None) -> None:
    result = filled(text, sql, rows, language=language)
    assert (result.text.replace("\xa0", " ") or None) == expected, result
    assert bool(result.problems) == (expected is None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mit {max.sales} Tagen", "mit 34,5 Tagen"),
        ("mit {max.sales#Tag|Tagen}", "mit 34,5 Tagen"),
        ("mit {max.sales} Tage", "mit 34,5 Tage"),
        ("mit {max.sales} mehr", "mit 34,5 Tage mehr"),
        ("mit {max.sales} Tag", "mit 34,5 Tage Tag"),
    ],
)
def test_a_unit_may_be_typed_in_another_case(text: str, expected: str) -> None:
    facts = facts_about(CITIES, [["A1", 34.5], ["B1", 16.4]], "de", sales="duration days")
    assert fill(text, facts, Said("?")).text == expected.replace("mit", "Mit")


def test_the_first_and_the_last_period_need_the_direction() -> None:
    text = "{1.u} ({1.month}), {-1.u} ({-1.month})."
    assert fill(text, facts_about(MONTHS, TREND), Said("?")).problems == (
        "{?change.u|...|...|...} has to say the direction",
    )


def test_rows_may_be_counted_up_to_a_limit_that_the_user_asked_for() -> None:
    facts = facts_about(CITIES + " LIMIT 3", SALES)
    text = "The {rows#city|cities} with most sales: {1.city} ({1.sales}) to {-1.city} ({-1.sales})."

    assert fill(text, facts, Said("Top 3 cities")).text == (
        "The 3 cities with most sales: Berlin (500.5) to Rome (100.0)."
    )
    assert fill("The {rows#city|cities} with most sales.", facts, Said("Top 3 cities")).text == (
        "The 3 cities with most sales."
    )
    assert fill("Down to {-1.city}.", facts, Said("Top 3 cities")).text == "Down to Rome."
    assert fill("There are {rows#city|cities}.", facts, Said("Which cities sell?")).problems


SALES_BY_CITY = "SELECT city, SUM(total) AS s FROM orders GROUP BY city"
OF_2024 = "SELECT city, SUM(total) AS s FROM orders WHERE day >= '2024-01-01'"


@pytest.mark.parametrize(
    ("where", "inner", "is_extreme"),
    [
        ("", "", True),
        ("o.city = 'Berlin' AND ", " WHERE city = 'Berlin'", True),
        ("o.city = 'Berlin' AND ", "", False),
        ("", " WHERE city = 'Berlin'", False),
    ],
)
def test_equality_with_an_extreme_counts_if_it_is_that_of_the_same_rows(
    where: str, inner: str, is_extreme: bool
) -> None:
    sql = f"SELECT o.id, o.total FROM orders o WHERE {where}o.total = (SELECT MAX(total) FROM orders{inner})"
    facts = facts_about(sql, [[3, 9], [4, 9]])
    assert bool(facts.extremes) == is_extreme


@pytest.mark.parametrize(
    ("sql", "is_extreme"),
    [
        (f"{OF_2024} GROUP BY city HAVING SUM(total) = (SELECT MAX(s) FROM ({OF_2024} GROUP BY city) AS x)", True),
        (f"{SALES_BY_CITY} HAVING SUM(total) = (SELECT MAX(s) FROM ({SALES_BY_CITY}) AS x)", True),
        (f"{SALES_BY_CITY} HAVING SUM(total) = (SELECT MAX(s) FROM ({OF_2024} GROUP BY city) AS x)", False),
        (f"{SALES_BY_CITY} HAVING SUM(total) = (SELECT MAX(s) FROM ({SALES_BY_CITY} HAVING COUNT(*) > 9) AS x)", False),
        (f"WITH y AS ({OF_2024} GROUP BY city) SELECT city, s FROM y WHERE s = (SELECT MAX(s) FROM y)", True),
        (
            f"WITH y AS ({OF_2024} GROUP BY city) SELECT city, SUM(total) AS s FROM orders GROUP BY city "
            "HAVING SUM(total) = (SELECT MAX(s) FROM y)",
            False,
        ),
        (
            "SELECT o.city, b.total AS s FROM orders AS o JOIN orders AS b ON o.id = b.id "
            "WHERE b.total = (SELECT MAX(total) FROM orders)",
            True,
        ),
        ("SELECT city, total AS s FROM orders WHERE total = (SELECT MAX(total) FROM returns)", False),
    ],
)
def test_an_extreme_of_subqueries_counts_if_they_read_the_same_rows(sql: str, is_extreme: bool) -> None:
    rows = Result(columns=["city", "s"], types=["string", "integer"], rows=[["A", 9], ["B", 9]], truncated=False)
    assert facts_of(rows, sql, CATALOG, "en").extremes == ({"max"} if is_extreme else set())


def test_a_year_that_the_text_names_is_not_told_again() -> None:
    facts, said = facts_about(MONTHS, TREND), Said("Best month of 2024?")
    assert fill("In 2024, {max.u:month} was best.", facts, said).text == "In 2024, March was best."
    assert fill("{max.u:month} was best of 2024.", facts, said).text == "March 2024 was best of 2024."


def test_the_year_of_a_result_is_not_that_of_another() -> None:
    facts = facts_about(MONTHS, TREND)
    others = {"b": facts_about(MONTHS, [["2025-01", 7], ["2025-02", 8]]), "c": facts_about(CITIES, SALES)}
    text = "{1.month} {?change.u|up|down|same}, {b:1.month} {?b:change.u|up|down|same}, {-1.month}, {c:max.sales:city}."
    assert fill(text, replace(facts, others=others), Said("?")).text == (
        "January 2024 up, January 2025 up, March 2024, Berlin."
    )


def test_a_second_sentence_may_rely_on_the_direction_of_the_first() -> None:
    facts = facts_about(MONTHS, TREND)
    first = fill("Sales {?change.u|rose|fell|stayed}.", facts, Said("?"))

    assert fill("That is {change%.u}.", facts, Said("?"), first).text == "That is 120%."
    assert fill("That is {change%.u}.", facts, Said("?")).problems


ROLLUP = "SELECT city, SUM(total) AS u FROM orders GROUP BY ROLLUP (city) ORDER BY u DESC"
BY_CITY = "SELECT city, SUM(total) AS u FROM orders"


@pytest.mark.parametrize(
    "sql",
    [
        ROLLUP,
        ROLLUP.replace("ROLLUP", "CUBE"),
        ROLLUP.replace("ROLLUP (city)", "GROUPING SETS ((city), ())"),
        f"SELECT city, u FROM ({ROLLUP}) AS t ORDER BY u DESC",
        f"{BY_CITY} GROUP BY city UNION ALL SELECT 'all', SUM(total) FROM orders ORDER BY u DESC",
        "SELECT city, total AS u FROM orders UNION ALL SELECT 'all', SUM(total) FROM orders ORDER BY u DESC",
        f"WITH x AS ({BY_CITY} GROUP BY city) SELECT city, u FROM x UNION ALL SELECT 'all', SUM(u) FROM x ORDER BY u DESC",  # noqa: E501
        f"{BY_CITY} WHERE day > '2024-01-01' AND city <> 'x' GROUP BY city UNION ALL "
        "SELECT 'all', SUM(total) FROM orders WHERE day > '2024-01-01' ORDER BY u DESC",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "text", ["{max.u:city}", "{min.u}", "{sum.u}", "{avg.u}", "{share.max.u}", "{rows}", "{different.city}"]
)
def test_rows_that_sum_up_others_are_none_of_them(sql: str, text: str) -> None:
    rows = [["all", 9], ["Berlin", 5], ["Paris", 4]]
    assert filled(text, sql, rows).problems
    assert not computed_facts({"": facts_about(sql, rows)})


RANKED = "SELECT city, total, RANK() OVER (ORDER BY total DESC) AS pos FROM orders"


@pytest.mark.parametrize(
    ("sql", "is_cut"),
    [
        (f"{RANKED} ORDER BY pos", False),
        (f"WITH x AS ({RANKED}) SELECT * FROM x ORDER BY pos", False),
        (f"WITH x AS ({RANKED}) SELECT city, total, pos + 1 AS p FROM x WHERE city <> 'a' ORDER BY pos", False),
        (f"WITH x AS ({RANKED}) SELECT city, total, pos FROM x WHERE pos < 5", True),
        (f"WITH x AS ({RANKED}) SELECT city, total, pos FROM x JOIN orders ON x.pos = orders.id", True),
        (f"WITH x AS ({RANKED}), y AS (SELECT city, total, pos + 1 AS p FROM x) SELECT * FROM y WHERE p < 5", True),
        (f"WITH x (city, total, p) AS ({RANKED}) SELECT * FROM x WHERE p < 5", True),
        (f"{RANKED} QUALIFY pos < 3", True),
        (f"{RANKED} QUALIFY RANK() OVER (ORDER BY total DESC) < 3", True),
        (f"WITH x AS ({RANKED}) SELECT city, MAX(total) AS total, MIN(pos) AS p FROM x GROUP BY 1 HAVING p < 5", True),
        (f"WITH x AS ({RANKED}) SELECT x.city, x.total, pos FROM x JOIN orders USING (pos)", True),
    ],
)
def test_a_rank_cuts_the_rows_where_it_is_compared(sql: str, is_cut: bool) -> None:
    result = Result(
        columns=["city", "total", "pos"], types=["string", "integer", "integer"], truncated=False,
        rows=[["Berlin", 5, 1], ["Paris", 3, 2]],
    )  # fmt: skip
    facts = facts_of(result, sql, CATALOG, "en")
    assert [bool(fill(text, facts, Said("?")).problems) for text in ("{rows} cities", "{min.total:city}")] == [
        is_cut
    ] * 2  # noqa: E501


NAMED = "SELECT city, SUM(total) AS u FROM orders GROUP BY city"


@pytest.mark.parametrize(
    "names", [["1月", "2月", "10月"], ["Jan", "Feb", "Dec"], ["Januar", "März", "Mai"], ["Q1", "Q2", "Q4"]]
)  # noqa: E501
def test_names_of_months_and_quarters_are_periods(names: list[str]) -> None:
    rows: list[list[Any]] = [[name, number] for name, number in zip(names, (100, 50, 300), strict=True)]
    text = "It {?change.u|rose|fell|stayed} by {change%.u}: {1.u} ({1.city}), {-1.u} ({-1.city})."
    sql = f"{NAMED} ORDER BY city"
    assert filled(text, sql, rows).text == f"It rose by 200%: 100 ({names[0]}), 300 ({names[-1]})."
    assert f"u, rise from {names[0]} to {names[-1]}" in {
        one.text for one in computed_facts({"": facts_about(sql, rows)})
    }  # noqa: E501
    assert filled("{?change.u|rose|fell|stayed}", sql, rows[::-1]).problems
    assert filled("{?change.u|rose|fell|stayed}", sql, [*rows, rows[0]]).problems
    assert filled("{?change.u|rose|fell|stayed}", sql, [*rows, ["Rome", 1]]).problems


@pytest.mark.parametrize(
    ("text", "rows", "language", "question"),
    [
        ("March was best, with {max.u}.", TREND, "en", "Which month was best?"),
        ("Mar was best, with {max.u}.", TREND, "en", "Which month was best?"),
        ("Лучшим был март: {max.u}.", TREND, "ru", "Какой месяц лучший?"),
        ("Am besten war der März mit {max.u}.", TREND, "de", "Welcher Monat war am besten?"),
        ("三月最高，为{max.u}。", TREND, "zh", "哪个月最高？"),
        ("January was best, with {max.u}.", [["Jan", 5], ["Mar", 3]], "en", "Which month was best?"),
        ("第一季度最高，为{max.u}。", [["2024-Q1", 5], ["2024-Q2", 3]], "zh", "哪个季度最高？"),
    ],
)
def test_a_typed_month_or_quarter_of_the_rows_is_a_name(
    text: str, rows: list[list[Any]], language: str, question: str
) -> None:
    sql = MONTHS if "-" in rows[0][0] else f"{NAMED} ORDER BY city"
    facts = facts_about(sql, rows, language)
    assert fill(text, facts, Said(question)).problems
    assert fill(text, facts, Said(f"{question} March, March 2024, Jan, март, März, 三月, 第一季度?")).text
    assert fill(text, facts_about(sql, [["2023-07", 5], ["2023-08", 4]], language), Said(question)).text
    if "-" in rows[0][0] and language != "zh":
        assert fill(text, facts, Said(question, literals=["2024-03-01"])).text


@pytest.mark.parametrize(
    "text",
    [
        "\u2212{sales}", "-{sales}", "\u2013{sales}", "(\u2212{sales})", "\uff0d{sales}", "{?sales|\u2212{sales}|a|b}",
        "{sales}.{n} in all", "{sales},{n}", "{sales}'{n}", "{sales}{n}", "{n} {sales}", "1{n}",
        "{n}.{sales} %", "{sales} %", "{sales}%", "{sales}\uff05",
        "{sales}k", "{sales}\u200bk", "{sales}e{n}", "O{n}", "{sales}\u4e07", "{sales} \u4e07", "{list|{n}k}",
        "\u20ac{sales}", "{sales} \u20ac", "{sales} USD", "USD {sales}", "{sales}USD",
        "{sales} \U0001f51f", "\u32c0 {sales}",
    ],
)  # fmt: skip
def test_what_is_typed_at_a_value_makes_no_other_figure(text: str) -> None:
    facts = facts_about("SELECT COUNT(*) AS n, SUM(total) AS sales FROM orders", [[12, 345]])
    assert fill(text, facts, Said("How many orders a week? 1, 5% or 3万?")).problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{n}-{sales}", "12-345"),
        ("from {n}\u2013{sales}", "From 12\u2013345"),
        ("Sales \u2013 {sales}", "Sales \u2013 345"),
        ("{sales}-fold", "345-fold"),
        ("{sales}\u5143", "345\u5143"),
        ("{n}, {sales}; {n}/{sales} ({n}): {sales}.", "12, 345; 12/345 (12): 345."),
        ("5% of {n}", "5% of 12"),
        ("In 2024 {n} orders", "In 2024 12 orders"),
        ("{sales} USD", "345 USD"),
        ("{sales} kg", "345 kg"),
    ],
)
def test_what_is_typed_beside_a_value_may_leave_its_figure(text: str, expected: str) -> None:
    facts = facts_about("SELECT COUNT(*) AS n, SUM(total) AS sales FROM orders", [[12, 345]])
    assert fill(text, facts, Said("How many USD, of 5%, in 2024?")).text == expected


@pytest.mark.parametrize(("text", "formats"), [("{x}%", {}), ("{x} %", {"x": "percent"}), ("{x}%", {"x": "percent"})])
def test_per_cent_may_be_typed_at_a_percentage(text: str, formats: dict[str, str]) -> None:
    facts = facts_about("SELECT 100.0 * SUM(total) / COUNT(*) AS x FROM orders", [[12.5]], **formats)
    assert fill(text, facts, Said("?")).text == "12.5%"


def test_a_unit_may_be_that_above_a_table() -> None:
    facts = facts_about("SELECT COUNT(*) AS n FROM orders", [[12]])
    said = Said("?", units=["2025年销售额（万元）"])
    assert fill("{n}万元", facts, said).text == "12万元"
    assert fill("2025年：{n}万元", facts, said).problems


def test_letters_may_be_typed_at_years() -> None:
    facts = facts_about("SELECT city, total AS y FROM orders ORDER BY y", [["Berlin", 1980]], y="year")
    assert fill("in the {y}s", facts, Said("?")).text == "In the 1980s"


LABELLED = "SELECT CASE WHEN city IS NULL THEN 'unknown' ELSE city END AS city, COUNT(*) AS n FROM orders GROUP BY 1"


def test_names_that_the_statement_writes_may_be_repeated_but_not_its_figures() -> None:
    rows = [["unknown", 5], ["Berlin", 4]]
    assert filled("{max.n} orders have the city unknown.", LABELLED, rows).text == "5 orders have the city unknown."
    assert filled("{max.n} orders have the city Berlin.", LABELLED, rows).problems
    dated = LABELLED.replace("unknown", "before 2024")
    assert filled("{max.n} orders are before 2024.", dated, [["before 2024", 5], ["Berlin", 4]]).problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Revenue was 98765.", "How much revenue?"),
        ("Top 5% of customers", "Which are the top 5 customers?"),
        ("10,500 orders", "Orders between 10 and 500"),
        ("5k orders", "5 orders"),
        ("约 5万", "前 5 名"),
        ("Berlin was counted.", "Which city?"),
        ("{n} orders", "How many orders?"),
    ],
)
def test_a_text_without_rows_has_no_figures_or_names(text: str, said: str) -> None:
    assert unsupported(text, Said(said), ["Berlin"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Orders of 2024 in Berlin are counted.", "How many orders in Berlin in 2024?"),
        ("Only orders above 1.000 €", "Orders above 1000 €"),
        ("Am 15.01.2024", "orders on 2024-01-15"),
        ("前5名", "前 5 名是谁"),
        ("Cancelled orders are left out.", "?"),
    ],
)
def test_a_text_without_rows_may_repeat_what_was_said(text: str, said: str) -> None:
    assert unsupported(text, Said(said), ["Berlin"]) == ()


def test_the_rows_of_a_wide_result_are_read_a_few_times_for_each_column() -> None:
    class Rows(list[list[Any]]):
        read = 0

        def __iter__(self) -> Iterator[list[Any]]:
            self.read += 1
            return super().__iter__()

    def reads(width: int) -> int:
        names = [f"name_{at}" for at in range(width)]
        columns = (Column("id", "INTEGER"), *(Column(name, "TEXT") for name in names))
        catalog = Catalog("sqlite", {"people": Table("people", columns, primary_key=("id",))})
        rows = Rows([[number, *(f"{name} {number}" for name in names)] for number in range(3)])
        result = Result(columns=["id", *names], types=["INTEGER", *["TEXT"] * width], rows=rows, truncated=False)
        facts_of(result, f"SELECT id, {', '.join(names)} FROM people", catalog, "en")
        return rows.read

    assert reads(40) < 3 * reads(20)
