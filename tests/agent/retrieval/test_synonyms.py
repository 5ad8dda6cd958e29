"""Synonyms of common business words in English, Russian and Chinese."""

import pytest

from datasphinx.agent.retrieval.synonyms import concepts, overlap

SAME = [
    ("account", "аккаунт", "账号"),
    ("customer name", "имя клиента", "客户名称"),
    ("order_date", "дата заказа", "订单日期"),
    ("returns", "возвраты", "退货"),
    ("number of returns", "количество возвратов", "退货数量"),
    ("product quality", "качество товаров", "产品质量"),
    ("deliveryIssues", "проблемы с доставкой", "物流异常"),
    ("purchase risk", "риск покупки", "购买风险"),
    ("revenue", "выручка", "销售额"),
    ("unit price", "цена за единицу", "单价"),
    ("discount", "скидка", "折扣"),
    ("profit", "прибыль", "利润"),
    ("salary", "зарплата", "工资"),
    ("department", "отдел", "部门"),
    ("warehouse stock", "остаток на складе", "仓库库存"),
    ("city", "город", "城市"),
    ("region", "регион", "地区"),
    ("month", "по месяцам", "月份"),
    ("full_name", "ФИО", "姓名"),
    ("status", "статус", "状态"),
    ("number of employees", "численность", "人数"),
    ("delay", "задержка", "延迟"),
    ("defects", "брак", "缺陷"),
    ("payment method", "способ оплаты", "付款方式"),
]
PAIRS = [pair for english, russian, chinese in SAME for pair in ((english, russian), (english, chinese),
                                                                (russian, chinese))]  # fmt: skip


def alike(first: str, second: str) -> float:
    these, those = concepts(first), concepts(second)
    return 0.6 * overlap(these, those) + 0.4 * overlap(those, these)


@pytest.mark.parametrize("first, second", PAIRS)
def test_translations_are_nearer_than_all_other_words(first: str, second: str) -> None:
    (place,) = (at for at in (0, 1, 2) if second in {row[at] for row in SAME})
    others = [row[place] for row in SAME if second not in row]

    assert alike(first, second) >= 0.8
    assert alike(first, second) > max(alike(first, other) for other in others)


@pytest.mark.parametrize(
    ("first", "second"), [("profit", "price"), ("退货", "账号"), ("брак", "доставка"), ("", "月份")]
)
def test_other_words_have_nothing_in_common(first: str, second: str) -> None:
    assert alike(first, second) == 0


def test_words_that_are_not_in_it_stand_for_themselves() -> None:
    assert alike("флогистон", "Флогистоны") == 1
    assert alike("火星探测", "火星探测") == 1
    assert alike("флогистон", "phlogiston") == 0
