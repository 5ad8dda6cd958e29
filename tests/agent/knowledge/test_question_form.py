"""Forms of questions: different questions have different forms, other wordings of a question have the same."""

from agent.knowledge.verified import Key, numbers_and_dates, read_question

TABLES = frozenset({"custom", "order", "product", "return"})
DIFFERENT = (
    ("What were the net sales in 2024?", "Were there net sales in 2024?"),
    ("How many customers visited in 2024?", "How many customers were visited in 2024?"),
    ("How many customers visited in 2024?", "How many customers did we visit in 2024?"),
    ("How many customers are in category A?", "How many customers are in category?"),
    ("customers in US", "customers"),
    ("customers in us", "customers"),
    ("Which customers have no orders in Germany?", "Which customers in Germany have no orders?"),
    ("users of C++", "users of C"),
    ("net sales as of 2024", "net sales in 2024"),
    ("How many products sold", "What is the quantity of products sold"),
    ("Which customers bought all products?", "Which customers bought products?"),
    ("How many friends referred customers?", "How many customers referred friends?"),
    ("sales from Germany to France", "sales from France to Germany"),
    ("orders in 2024 Q1", "orders in 2024 Q2"),
    ("orders at 10%", "orders at 10"),
    ("5k orders", "5 orders"),
    ("price in $", "price in €"),
    ("lowest highest price", "highest lowest price"),
    ("customers with more orders than returns", "customers with more returns than orders"),
    ("orders by customer", "orders of customer"),
    ("top 5 customers", "5 customers"),
    ("sales not net", "net sales"),
    ("orders per day", "orders per 2 days"),
    ("first order", "last order"),
    ("when were orders placed", "orders placed"),
    ("orders or returns", "orders and returns"),
    ("May orders", "June orders"),
    ("at least 5 orders", "more than 5 orders"),
    ("at most 5 orders", "fewer than 5 orders"),
    ("orders between 2023 and 2024", "orders in 2023 and 2024"),
    ("who sold the most", "what sold the most"),
    ("orders before 2024-01-31", "orders after 2024-01-31"),
    ("orders after 2024-01-31", "orders after January 2024"),
    ("Какие клиенты без заказов", "Какие клиенты с заказами"),
    ("заказы до 2024 года", "заказы после 2024 года"),
    ("Есть ли заказы в 2024 году?", "заказы в 2024 году"),
    ("订单多吗", "订单多"),
    ("没有订单的客户", "有订单的客户"),
)
EQUAL = (
    ("Can you show me the number of orders per customer in 2024, please?", "In 2024, how many orders by customer?"),
    ("What's the maximum price?", "the highest price"),
    ("orders above 5 dollars", "orders over 5 dollars"),
    ("orders after March 1st, 2024", "orders after 2024-03-01"),
    ("Сколько клиентов по регионам?", "Покажите количество клиентов в каждом регионе"),
    ("请问有多少订单？", "有多少订单？"),
)


def form(question: str) -> Key:
    literals = numbers_and_dates(question)
    slots = {at: literal.kind for at, literal in enumerate(literals)}
    return read_question(question, literals, []).key(slots, TABLES)


def test_different_questions_have_different_forms() -> None:
    assert [pair for pair in DIFFERENT if form(pair[0]) == form(pair[1])] == []


def test_wordings_of_a_question_have_the_same_form() -> None:
    assert [pair for pair in EQUAL if form(pair[0]) != form(pair[1])] == []


def test_literals_are_numbers_and_days() -> None:
    text = "top five of 1,000 orders above -2.50 before 31 марта 2024 года, not 03/04/2024 or Q1 2023"

    assert [(each.kind, each.value) for each in numbers_and_dates(text)] == [
        ("number", "5"), ("number", "1000"), ("number", "-2.5"), ("date", "2024-03-31"),
        ("number", "3"), ("number", "4"), ("number", "2024"), ("number", "2023"),
    ]  # fmt: skip
