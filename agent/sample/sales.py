"""Orders, order items and returns of the sample shop. Amounts are computed in cents.

Statuses of orders are those at the end of the last day, so the newest orders have not arrived.
"""

from bisect import bisect, bisect_right
from datetime import date, timedelta
from itertools import accumulate
from random import Random
from typing import NamedTuple

from datasphinx.agent.sample import names
from datasphinx.agent.sample.people import FIRST_DAY, LAST_DAY, UNSOLD_PRODUCTS, Category, Customer, Employee, Product

# Not a round number: a count of 10,000 could be mistaken for a row limit.
ORDER_COUNT = 10_127
CHANNELS = (("W", "web"), ("S", "store"), ("P", "phone"))
CHANNEL_SHARES = {2023: (50, 36, 14), 2024: (57, 31, 12), 2025: (64, 27, 9)}
YEAR_WEIGHTS = {2023: 100, 2024: 121, 2025: 144}
MONTH_WEIGHTS = (80, 76, 88, 92, 98, 96, 88, 84, 100, 106, 142, 168)
PRICE_PERCENT = {2023: 92, 2024: 96, 2025: 100}
SEGMENT_WEIGHTS = {"Consumer": 2, "Small Business": 3, "Enterprise": 5}
MAX_CHEAP_UNITS = {"Consumer": 3, "Small Business": 6, "Enterprise": 14}
MAX_EXPENSIVE_UNITS = {"Consumer": 1, "Small Business": 3, "Enterprise": 6}
DISCOUNTS = (0, 5, 10, 15, 20)
DISCOUNT_WEIGHTS = {
    "Consumer": (76, 6, 11, 3, 4),
    "Small Business": (56, 18, 16, 6, 4),
    "Enterprise": (34, 22, 22, 14, 8),
}


class Order(NamedTuple):
    """A row of `orders`."""

    order_id: int
    customer_id: int
    employee_id: int | None
    ordered_on: str
    shipped_on: str | None
    status: str
    channel: str
    total_amount: float


class OrderItem(NamedTuple):
    """A row of `order_items`."""

    order_item_id: int
    order_id: int
    product_id: int
    quantity: int
    unit_price: float
    discount: float
    line_total: float


class Return(NamedTuple):
    """A row of `returns`."""

    return_id: int
    order_item_id: int
    returned_on: str
    reason: str | None
    refund_amount: float


class Sales:
    """Generates orders; after `run`, `orders`, `items` and `returns` contain the rows."""

    def __init__(
        self,
        rng: Random,
        employees: list[Employee],
        customers: list[Customer],
        categories: list[Category],
        products: list[Product],
    ) -> None:
        self.orders: list[Order] = []
        self.items: list[OrderItem] = []
        self.returns: list[Return] = []
        self._rng = rng
        self._customers = customers
        self._sign_ups = [customer.signed_up_on for customer in customers]
        self._customer_weights = list(accumulate(self._customer_weight(customer) for customer in customers))
        self._representatives = [person for person in employees if person.job_title == "Sales Representative"]
        self._return_rates = _return_rates(categories, products)
        ranked = rng.sample(products, len(products))
        # A few products account for most of the sales.
        self._popularity = {
            product: 0.0 if product.name in UNSOLD_PRODUCTS else 1 / (rank + 4) for rank, product in enumerate(ranked)
        }
        self._popularity_now = {
            product: weight * (1 - product.discontinued) for product, weight in self._popularity.items()
        }

    def run(self) -> None:
        """Generate all orders, oldest first."""
        days = [FIRST_DAY + timedelta(days=number) for number in range((LAST_DAY - FIRST_DAY).days + 1)]
        weights = [
            YEAR_WEIGHTS[day.year] * MONTH_WEIGHTS[day.month - 1] * (8 if day.weekday() >= 5 else 10) for day in days
        ]
        for day in sorted(self._rng.choices(days, weights, k=ORDER_COUNT)):
            self._place_order(day)

    def _place_order(self, day: date) -> None:
        order_id = len(self.orders) + 1
        signed_up = bisect_right(self._sign_ups, day.isoformat())
        point = self._rng.random() * self._customer_weights[signed_up - 1]
        customer = self._customers[bisect(self._customer_weights, point, 0, signed_up - 1)]
        channel = self._rng.choices([code for code, _ in CHANNELS], CHANNEL_SHARES[day.year])[0]
        employee_id = None if channel == "W" else self._pick_representative(customer, day)
        status, shipped, arrived = self._progress(day)
        items = self._draw_items(order_id, customer, day)
        total = sum(_cents(item.line_total) for item in items) / 100
        shipped_on = shipped.isoformat() if shipped else None
        self.orders.append(
            Order(order_id, customer.customer_id, employee_id, day.isoformat(), shipped_on, status, channel, total)
        )
        self.items.extend(items)
        if arrived:
            self._draw_returns(items, arrived)

    def _customer_weight(self, customer: Customer) -> float:
        """Return the relative frequency of orders: 9 % of customers never buy, a few buy very often."""
        is_inactive = self._rng.random() < 0.09
        return 0.0 if is_inactive else SEGMENT_WEIGHTS[customer.segment] / (0.06 + self._rng.random())

    def _pick_representative(self, customer: Customer, day: date) -> int:
        today = day.isoformat()
        available = [
            person.employee_id
            for person in self._representatives
            if person.region_id == customer.region_id and person.hired_on <= today
        ]
        return self._rng.choice(available)

    def _progress(self, day: date) -> tuple[str, date | None, date | None]:
        """Return the status, shipping date and arrival date of an order."""
        if self._rng.random() < 0.055:
            return "cancelled", None, None
        shipped = day + timedelta(days=self._rng.choice((0, 1, 1, 1, 2, 2, 3, 5)))
        arrived = shipped + timedelta(days=self._rng.randint(2, 8))
        if shipped > LAST_DAY:
            return "pending", None, None
        return ("shipped", shipped, None) if arrived > LAST_DAY else ("delivered", shipped, arrived)

    def _draw_items(self, order_id: int, customer: Customer, day: date) -> list[OrderItem]:
        popularity = self._popularity_now if day.year == LAST_DAY.year else self._popularity
        draws = self._rng.choices((1, 2, 3, 4, 5), (30, 30, 20, 12, 8))[0]
        # A product drawn twice is one line, so an order may have fewer lines than draws.
        products = dict.fromkeys(self._rng.choices(list(popularity), list(popularity.values()), k=draws))
        first = len(self.items) + 1
        return [
            self._draw_item(first + index, order_id, product, customer.segment, day)
            for index, product in enumerate(products)
        ]

    def _draw_item(self, item_id: int, order_id: int, product: Product, segment: str, day: date) -> OrderItem:
        max_units = MAX_CHEAP_UNITS if product.price < 60 else MAX_EXPENSIVE_UNITS
        quantity = self._rng.randint(1, max_units[segment])
        percent = self._rng.choices(DISCOUNTS, DISCOUNT_WEIGHTS[segment])[0]
        unit = _cents(product.price) * PRICE_PERCENT[day.year] // 2000 * 20
        line = quantity * unit * (100 - percent) // 100
        return OrderItem(item_id, order_id, product.product_id, quantity, unit / 100, percent / 100, line / 100)

    def _draw_returns(self, items: list[OrderItem], arrived: date) -> None:
        for item in items:
            if self._rng.random() >= self._return_rates[item.product_id]:
                continue
            returned = arrived + timedelta(days=self._rng.randint(1, 30))
            reason = self._rng.choices(names.RETURN_REASONS, (30, 18, 22, 14, 8, 8))[0]
            refund = _cents(item.line_total) // item.quantity * self._rng.randint(1, item.quantity) / 100
            if returned <= LAST_DAY:
                self.returns.append(
                    Return(len(self.returns) + 1, item.order_item_id, returned.isoformat(), reason, refund)
                )


def _return_rates(categories: list[Category], products: list[Product]) -> dict[int, float]:
    rates = {name: float(rate) for _, name, rate in names.table(names.CATEGORIES) if name}
    by_category = {category.category_id: rates.get(category.name, 0.0) for category in categories}
    return {product.product_id: by_category[product.category_id] for product in products}


def _cents(amount: float) -> int:
    return round(amount * 100)
