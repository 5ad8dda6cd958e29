"""Regions, employees, customers and products of the sample shop.

Random draws use only integer arithmetic and division: functions of the C library (logarithms, powers) may differ in the
last digit between machines, and the rows must not. Fields are in the order of the columns.
"""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import product
from random import Random
from typing import NamedTuple

from datasphinx.agent.sample import names

FIRST_DAY = date(2023, 1, 1)
LAST_DAY = date(2025, 12, 31)
CUSTOMER_COUNT = 1_184
REPRESENTATIVES_PER_REGION = 6
BASE_SALARIES = {
    "Chief Executive": 210_000,
    "Regional Manager": 92_000,
    "Sales Representative": 52_000,
    "Support Specialist": 44_000,
}
PLACES = names.table(names.PLACES)
PLACE_WEIGHTS = [int(place[3]) for place in PLACES]
UNSOLD_PRODUCTS = ("Calligraphy Set", "Patio Umbrella", "Kneeling Chair")
DISCONTINUED_PRODUCTS = (
    "Vinyl Record Player",
    "Compact Keyboard",
    "Motion Sensor",
    "Bar Stool",
    "Folding Table",
    "Glass Teapot",
    "Linen Tablecloth",
    "Desk Calendar",
)


class Region(NamedTuple):
    """A row of `regions`."""

    region_id: int
    name: str


class Employee(NamedTuple):
    """A row of `employees`."""

    employee_id: int
    name: str
    job_title: str
    manager_id: int | None
    region_id: int | None
    hired_on: str
    salary: int


class Customer(NamedTuple):
    """A row of `customers`."""

    customer_id: int
    name: str
    email: str
    phone: str | None
    city: str
    country: str
    region_id: int
    segment: str
    signed_up_on: str


class Category(NamedTuple):
    """A row of `categories`."""

    category_id: int
    name: str
    parent_id: int | None


class Product(NamedTuple):
    """A row of `products`."""

    product_id: int
    name: str
    category_id: int
    price: float
    cost: float
    discontinued: int


def make_regions() -> list[Region]:
    """Return the regions."""
    return [Region(number, name) for number, name in enumerate(names.REGIONS, start=1)]


def make_employees(rng: Random) -> list[Employee]:
    """Return the employees, each after their manager."""
    people = iter(_person_names(rng))
    employees = []
    for number, (title, manager, region, is_early) in enumerate(_positions(), start=1):
        start, end = (date(2016, 3, 1), FIRST_DAY) if is_early else (date(2019, 1, 1), date(2025, 10, 1))
        hired_on = (start + timedelta(days=rng.randrange((end - start).days))).isoformat()
        salary = BASE_SALARIES.get(title, 125_000) + rng.randrange(0, 25) * 500
        employees.append(Employee(number, next(people), title, manager, region, hired_on, salary))
    return employees


def make_customers(rng: Random) -> list[Customer]:
    """Return the customers in the order of registration."""
    first_sign_up = date(2021, 1, 1)
    span = (LAST_DAY - first_sign_up).days + 1
    days = sorted(rng.randrange(span) for _ in range(CUSTOMER_COUNT))
    people = iter(_person_names(rng))
    company_names = [f"{last} {ending}" for last, ending in product(names.LAST_NAMES, names.COMPANY_ENDINGS)]
    companies = iter(rng.sample(company_names, len(company_names)))
    customers = []
    for number, day in enumerate(days, start=1):
        segment = rng.choices(("Consumer", "Small Business", "Enterprise"), (62, 29, 9))[0]
        name = next(people if segment == "Consumer" else companies)
        signed_up_on = (first_sign_up + timedelta(days=day)).isoformat()
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        words = re.sub(r"[^a-z]+", ".", plain)
        email = f"{words}@example.com" if segment == "Consumer" else f"office@{words.replace('.', '-')}.example"
        customers.append(Customer(number, name, email, *_home(rng), segment, signed_up_on))
    return customers


def make_categories() -> list[Category]:
    """Return the categories, parents first."""
    lines = names.table(names.CATEGORIES)
    numbers = {parent: number for number, parent in enumerate(dict.fromkeys(line[0] for line in lines), start=1)}
    leaves = [(name, numbers[parent]) for parent, name, _ in lines if name]
    parents = [Category(number, name, None) for name, number in numbers.items()]
    return parents + [Category(len(parents) + index, *leaf) for index, leaf in enumerate(leaves, start=1)]


def make_products(rng: Random, categories: list[Category]) -> list[Product]:
    """Return the products. Prices are multiples of 20 cents, so discounts yield whole cents."""
    numbers = {category.name: category.category_id for category in categories}
    products = []
    for number, (category, name, price) in enumerate(names.table(names.PRODUCTS), start=1):
        cost = round(float(price) * rng.randint(42, 74) / 100, 2)
        discontinued = int(name in DISCONTINUED_PRODUCTS)
        products.append(Product(number, name, numbers[category], float(price), cost, discontinued))
    return products


def _positions() -> Iterator[tuple[str, int | None, int | None, bool]]:
    """Yield title, manager, region and whether the position was filled before the first order."""
    yield "Chief Executive", None, None, True
    yield "Head of Sales", 1, None, True
    yield "Head of Support", 1, None, True
    region_ids = range(1, len(names.REGIONS) + 1)
    for region in region_ids:
        yield "Regional Manager", 2, region, True
    for index, region in product(range(REPRESENTATIVES_PER_REGION), region_ids):
        # Regional managers have ids from 4, after the three employees at head office.
        yield "Sales Representative", 3 + region, region, index < 2
    for _ in range(5):
        yield "Support Specialist", 3, None, False


def _person_names(rng: Random) -> list[str]:
    full = [f"{first} {last}" for first, last in product(names.FIRST_NAMES, names.LAST_NAMES)]
    return rng.sample(full, CUSTOMER_COUNT)


def _home(rng: Random) -> tuple[str | None, str, str, int]:
    """Return the phone number, city, country and region id of a customer."""
    region, country, dial, _, city_list = rng.choices(PLACES, PLACE_WEIGHTS)[0]
    cities = city_list.split(", ")
    # The first city of a country is twice as likely as each of the others.
    city = rng.choice([cities[0], *cities])
    phone = f"{dial} 555 {rng.randrange(10_000):04d}" if rng.random() < 0.83 else None
    return phone, city, country, names.REGIONS.index(region) + 1
