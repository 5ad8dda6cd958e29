"""A made-up freight carrier and a made-up library network, each as a SQLite database.

Each is drawn from its own seeded random generator, so that the same databases come out every time.
Nothing has happened after 31 October 2025.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate, product
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.domains import create

FREIGHT_SEED = 20230109
LIBRARY_SEED = 19641
LAST_DAY = date(2025, 10, 31)

VEHICLE_COUNT = 78
DRIVER_COUNT = 68
CUSTOMER_COUNT = 130
SHIPMENT_COUNT = 1600
MAINTENANCE_JOB_COUNT = 290
# These have no shipment or no maintenance job at all.
IDLE_DRIVERS = frozenset({61, 64, 66, 68})
IDLE_CUSTOMERS = frozenset({37, 72, 88, 101, 119, 126})
UNREPAIRED_VEHICLES = frozenset({14, 29, 41, 52, 63, 70, 77})

MEMBER_COUNT = 480
AUTHOR_COUNT = 140
TITLE_COUNT = 320
COPY_COUNT = 1050
LOAN_COUNT = 3000
RESERVATION_COUNT = 620
LOAN_DAYS = 21

FREIGHT_SCHEMA = """
CREATE TABLE depots (
    depot_id INTEGER PRIMARY KEY,
    depot_name TEXT NOT NULL UNIQUE,
    city TEXT NOT NULL,
    region TEXT NOT NULL,
    dock_count INTEGER NOT NULL,
    opened_year INTEGER NOT NULL
);
CREATE TABLE vehicles (
    vehicle_id INTEGER PRIMARY KEY,
    depot_id INTEGER NOT NULL REFERENCES depots (depot_id),
    plate_no TEXT NOT NULL UNIQUE,
    vehicle_type TEXT NOT NULL,
    fuel_type TEXT NOT NULL,
    model_year INTEGER NOT NULL,
    payload_kg INTEGER NOT NULL,
    last_inspected_on TEXT,
    status_cd TEXT NOT NULL
);
CREATE TABLE drivers (
    driver_id INTEGER PRIMARY KEY,
    depot_id INTEGER NOT NULL REFERENCES depots (depot_id),
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    licence_class TEXT NOT NULL,
    hired_on TEXT NOT NULL,
    left_on TEXT,
    hourly_rate REAL NOT NULL,
    phone TEXT
);
CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY,
    company_name TEXT NOT NULL UNIQUE,
    industry TEXT NOT NULL,
    city TEXT NOT NULL,
    contact_email TEXT,
    signed_on TEXT NOT NULL,
    credit_limit REAL NOT NULL,
    terms_cd TEXT NOT NULL
);
CREATE TABLE shipments (
    shipment_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    origin_depot_id INTEGER NOT NULL REFERENCES depots (depot_id),
    vehicle_id INTEGER REFERENCES vehicles (vehicle_id),
    driver_id INTEGER REFERENCES drivers (driver_id),
    service_level TEXT NOT NULL,
    load_cd TEXT NOT NULL,
    weight_kg REAL NOT NULL,
    declared_value REAL,
    booked_on TEXT NOT NULL,
    shipped_on TEXT,
    delivered_on TEXT,
    status TEXT NOT NULL
);
CREATE TABLE delivery_stops (
    stop_id INTEGER PRIMARY KEY,
    shipment_id INTEGER NOT NULL REFERENCES shipments (shipment_id),
    stop_no INTEGER NOT NULL,
    city TEXT NOT NULL,
    planned_on TEXT NOT NULL,
    arrived_on TEXT,
    distance_km REAL NOT NULL,
    outcome_cd TEXT
);
CREATE TABLE invoices (
    invoice_id INTEGER PRIMARY KEY,
    shipment_id INTEGER NOT NULL UNIQUE REFERENCES shipments (shipment_id),
    issued_on TEXT NOT NULL,
    due_on TEXT NOT NULL,
    paid_on TEXT,
    net_amount REAL NOT NULL,
    vat_amount REAL NOT NULL,
    dunning_cd TEXT
);
CREATE TABLE maintenance_jobs (
    job_id INTEGER PRIMARY KEY,
    vehicle_id INTEGER NOT NULL REFERENCES vehicles (vehicle_id),
    job_type TEXT NOT NULL,
    done_on TEXT NOT NULL,
    odometer_km INTEGER,
    cost REAL NOT NULL,
    workshop TEXT
);
"""

LIBRARY_SCHEMA = """
CREATE TABLE branches (
    branch_id INTEGER PRIMARY KEY,
    branch_name TEXT NOT NULL UNIQUE,
    district TEXT NOT NULL,
    opened_year INTEGER NOT NULL,
    floor_area_m2 REAL NOT NULL,
    has_parking INTEGER NOT NULL,
    phone TEXT
);
CREATE TABLE members (
    member_id INTEGER PRIMARY KEY,
    home_branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    birth_year INTEGER,
    email TEXT,
    member_type TEXT NOT NULL,
    joined_on TEXT NOT NULL,
    status_cd TEXT NOT NULL
);
CREATE TABLE authors (
    author_id INTEGER PRIMARY KEY,
    first_name TEXT NOT NULL,
    last_name TEXT NOT NULL,
    nationality TEXT,
    birth_year INTEGER
);
CREATE TABLE titles (
    title_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL UNIQUE,
    genre TEXT NOT NULL,
    language TEXT NOT NULL,
    published_year INTEGER NOT NULL,
    page_count INTEGER,
    publisher TEXT,
    isbn TEXT NOT NULL UNIQUE
);
CREATE TABLE title_authors (
    title_id INTEGER NOT NULL REFERENCES titles (title_id),
    author_id INTEGER NOT NULL REFERENCES authors (author_id),
    author_pos INTEGER NOT NULL,
    PRIMARY KEY (title_id, author_id)
);
CREATE TABLE copies (
    copy_id INTEGER PRIMARY KEY,
    title_id INTEGER NOT NULL REFERENCES titles (title_id),
    branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
    barcode TEXT NOT NULL UNIQUE,
    acquired_on TEXT NOT NULL,
    purchase_price REAL NOT NULL,
    condition TEXT NOT NULL,
    shelf_cd TEXT
);
CREATE TABLE loans (
    loan_id INTEGER PRIMARY KEY,
    copy_id INTEGER NOT NULL REFERENCES copies (copy_id),
    member_id INTEGER NOT NULL REFERENCES members (member_id),
    loaned_on TEXT NOT NULL,
    due_on TEXT NOT NULL,
    returned_on TEXT,
    renewal_count INTEGER NOT NULL,
    channel_cd TEXT NOT NULL
);
CREATE TABLE reservations (
    reservation_id INTEGER PRIMARY KEY,
    title_id INTEGER NOT NULL REFERENCES titles (title_id),
    member_id INTEGER NOT NULL REFERENCES members (member_id),
    pickup_branch_id INTEGER NOT NULL REFERENCES branches (branch_id),
    reserved_on TEXT NOT NULL,
    ready_on TEXT,
    status TEXT NOT NULL
);
CREATE TABLE fines (
    fine_id INTEGER PRIMARY KEY,
    loan_id INTEGER NOT NULL REFERENCES loans (loan_id),
    reason TEXT NOT NULL,
    amount REAL NOT NULL,
    charged_on TEXT NOT NULL,
    paid_on TEXT
);
"""


class VehicleType(NamedTuple):
    """What vehicles of one type are like, how common they are, and how their repairs compare in cost."""

    payloads: Sequence[int]
    fuels: Sequence[str]
    weight: int
    cost_factor: float


class Vehicle(NamedTuple):
    """One vehicle, as in its table."""

    vehicle_id: int
    depot_id: int
    plate: str
    vehicle_type: str
    fuel: str
    model_year: int
    payload: int
    last_inspected_on: date | None
    status: str


class Driver(NamedTuple):
    """One driver, as in its table."""

    driver_id: int
    depot_id: int
    first_name: str
    last_name: str
    licence_class: str
    hired_on: date
    left_on: date | None
    hourly_rate: float
    phone: str | None


class Customer(NamedTuple):
    """One customer, as in its table."""

    customer_id: int
    name: str
    industry: str
    city: str
    email: str | None
    signed_on: date
    credit_limit: float
    terms: str


class Shipment(NamedTuple):
    """One shipment, as in its table."""

    shipment_id: int
    customer_id: int
    depot_id: int
    vehicle_id: int | None
    driver_id: int | None
    service_level: str
    load: str
    weight: float
    declared_value: float | None
    booked_on: date
    shipped_on: date | None
    delivered_on: date | None
    status: str


class Invoice(NamedTuple):
    """One invoice, without its number."""

    shipment_id: int
    issued_on: date
    due_on: date
    paid_on: date | None
    net_amount: float
    tax_amount: float
    dunning: str | None


class MaintenanceJob(NamedTuple):
    """One job on a vehicle, without its number."""

    vehicle_id: int
    job_type: str
    done_on: date
    odometer: int | None
    cost: float
    workshop: str | None


class Member(NamedTuple):
    """One member of the library, as in its table."""

    member_id: int
    branch_id: int
    first_name: str
    last_name: str
    birth_year: int | None
    email: str | None
    member_type: str
    joined_on: date
    status: str


class Title(NamedTuple):
    """One title of the catalogue, as in its table."""

    title_id: int
    title: str
    genre: str
    language: str
    published_year: int
    page_count: int | None
    publisher: str | None
    isbn: str


class Copy(NamedTuple):
    """One copy of a title, as in its table."""

    copy_id: int
    title_id: int
    branch_id: int
    barcode: str
    acquired_on: date
    price: float
    condition: str
    shelf: str | None


class Loan(NamedTuple):
    """One loan, without its number and how it was made."""

    copy_id: int
    member_id: int
    loaned_on: date
    due_on: date
    returned_on: date | None
    renewal_count: int


class Fine(NamedTuple):
    """One fine, without its number."""

    loan_id: int
    reason: str
    amount: float
    charged_on: date
    paid_on: date | None


class Reservation(NamedTuple):
    """One reservation, without its number."""

    title_id: int
    member_id: int
    branch_id: int
    reserved_on: date
    ready_on: date | None
    status: str


FIRST_NAMES: Sequence[str] = (
    "Aisha", "Alan", "Alice", "Amir", "Andrew", "Angela", "Anna", "Arthur", "Barbara", "Ben", "Callum", "Carol",
    "Chloe", "Craig", "Daniel", "Deborah", "Derek", "Diane", "Edith", "Eleanor", "Emma", "Farah", "Fiona", "Gareth",
    "George", "Grace", "Hannah", "Harry", "Helen", "Imran", "Isla", "Jack", "Jacob", "Janet", "Jasmine", "Joan",
    "Joseph", "Karen", "Keith", "Kieran", "Laura", "Leah", "Liam", "Louise", "Lucy", "Malcolm", "Margaret", "Martin",
    "Megan", "Mohammed", "Nadia", "Natalie", "Neil", "Niamh", "Oliver", "Olivia", "Patrick", "Paula", "Priya", "Rachel",
    "Rebecca", "Robert", "Rosa", "Samuel", "Sanjay", "Sarah", "Sean", "Simon", "Sophie", "Stephen", "Susan", "Tariq",
    "Thomas", "Tomasz", "Victoria", "Wendy", "William", "Yusuf", "Zara", "Zofia",
)  # fmt: skip
LAST_NAMES: Sequence[str] = (
    "Ahmed", "Ainsworth", "Allen", "Armitage", "Bailey", "Barker", "Begum", "Bell", "Booth", "Bradley", "Brooks",
    "Butterworth", "Campbell", "Carter", "Chapman", "Clarke", "Collins", "Cooper", "Crossley", "Dawson", "Dixon",
    "Doyle", "Eastwood", "Ellis", "Fielding", "Fletcher", "Foster", "Gallagher", "Gibson", "Graham", "Greenwood",
    "Haigh", "Hargreaves", "Harrison", "Hartley", "Holmes", "Hussain", "Iqbal", "Jackson", "Kaur", "Kelly", "Kershaw",
    "Khan", "Kowalski", "Lawson", "Lister", "Marsden", "Mason", "McCarthy", "Metcalfe", "Murphy", "Naylor", "Nowak",
    "Ogden", "Oldroyd", "Parker", "Patel", "Pearson", "Pickering", "Ramsden", "Rhodes", "Robinson", "Schofield", "Shah",
    "Sharma", "Singh", "Stead", "Sutcliffe", "Sykes", "Thackray", "Thornton", "Turner", "Walker", "Walsh", "Whitaker",
    "Wilkinson", "Wood", "Wright",
)  # fmt: skip

DEPOTS: Sequence[tuple[int, str, str, str, int, int]] = (
    (1, "Leeds Stourton", "Leeds", "Yorkshire", 24, 1998),
    (2, "Trafford Park", "Manchester", "North West", 30, 1994),
    (3, "Tinsley", "Sheffield", "Yorkshire", 16, 2003),
    (4, "Hull Docks", "Hull", "Yorkshire", 18, 2001),
    (5, "Team Valley", "Gateshead", "North East", 14, 2006),
    (6, "Carlisle Kingmoor", "Carlisle", "Cumbria", 8, 2011),
    (7, "Preston East", "Preston", "North West", 12, 2009),
    (8, "Speke Boulevard", "Liverpool", "North West", 20, 1999),
    (9, "Teesport", "Middlesbrough", "North East", 10, 2014),
)
DEPOT_WEIGHTS: Sequence[int] = (24, 28, 13, 15, 11, 5, 8, 18, 6)

VEHICLE_TYPES: dict[str, VehicleType] = {
    "van": VehicleType((900, 1100, 1400), ("diesel", "electric", "electric"), 18, 0.6),
    "box truck": VehicleType((3500, 5000, 7500), ("diesel", "diesel", "electric"), 22, 1.0),
    "tractor unit": VehicleType((18000, 24000, 26000), ("diesel", "diesel", "LNG"), 24, 1.5),
    "refrigerated truck": VehicleType((6000, 9000, 12000), ("diesel", "diesel", "HVO"), 10, 1.2),
}

# Type of job: usual cost, weight. Only refrigerated trucks have the last.
JOB_TYPES: dict[str, tuple[int, int]] = {
    "service": (320, 45),
    "tyres": (540, 22),
    "brakes": (460, 14),
    "engine": (1650, 7),
    "bodywork": (880, 8),
    "refrigeration": (1120, 12),
}
WORKSHOPS: Sequence[str | None] = ("Stourton Garage", "Ribble Truck Care", "Humber Commercials", "in-house", None)

# First parts of company names.
COMPANY_NAMES: Sequence[str] = (
    "Aire", "Airedale", "Beck", "Calder", "Cheviot", "Cleveland", "Colne", "Craven", "Dales", "Derwent", "Ebor", "Esk",
    "Fylde", "Holme", "Humber", "Irwell", "Kirkstall", "Lakeland", "Lune", "Mersey", "Nidd", "Northgate", "Ouse",
    "Pendle", "Pennine", "Ribble", "Rivelin", "Ryedale", "Swale", "Tees", "Tyne", "Ure", "Wear", "Wharfe", "Wolds",
)  # fmt: skip
# Industry: weight, second parts of company names.
INDUSTRIES: dict[str, tuple[int, Sequence[str]]] = {
    "food": (26, ("Bakeries", "Dairy Co", "Foods", "Frozen Ltd", "Brewing Co")),
    "construction": (20, ("Aggregates", "Building Supplies", "Timber Ltd", "Roofing")),
    "retail": (22, ("Stores", "Home & Garden", "Furniture", "Outfitters")),
    "chemicals": (10, ("Chemicals Ltd", "Coatings", "Polymers")),
    "automotive": (14, ("Motor Parts", "Tyres Ltd", "Bodyworks")),
    "textiles": (8, ("Mills", "Carpets", "Fabrics Ltd")),
    "electronics": (12, ("Controls", "Circuits Ltd", "Lighting")),
}
TOWNS: Sequence[str] = (
    "Leeds", "Manchester", "Sheffield", "Hull", "Gateshead", "Carlisle", "Preston", "Liverpool", "Middlesbrough",
    "York", "Bradford", "Huddersfield", "Wakefield", "Bolton", "Stockport", "Lancaster", "Durham", "Sunderland",
    "Doncaster", "Harrogate",
)  # fmt: skip
CREDIT_LIMITS: Sequence[float] = (5000, 7500, 10000, 15000, 20000, 30000, 45000, 60000, 80000)

SERVICE_LEVELS: dict[str, int] = {"standard": 58, "express": 24, "economy": 18}
RATES: dict[str, float] = {"standard": 1.9, "express": 2.9, "economy": 1.4}

BRANCHES: Sequence[tuple[int, str, str, int, float, int, str | None]] = (
    (1, "Central Library", "City Centre", 1904, 4200.0, 0, "0114 496 0100"),
    (2, "Hillside", "North", 1967, 640.5, 1, "0114 496 0121"),
    (3, "Mill Lane", "East", 1978, 520.0, 0, "0114 496 0134"),
    (4, "Riverside", "City Centre", 1989, 910.0, 1, "0114 496 0140"),
    (5, "Oakfield", "South", 1955, 480.8, 1, None),
    (6, "Northgate", "North", 1992, 705.0, 1, "0114 496 0158"),
    (7, "Station Road", "West", 1931, 390.2, 0, "0114 496 0166"),
    (8, "Parkway", "South", 2008, 1150.0, 1, "0114 496 0173"),
    (9, "Fellgate", "North", 1949, 310.6, 0, None),
    (10, "Harbour Lane", "East", 2016, 830.4, 1, "0114 496 0190"),
)
BRANCH_WEIGHTS: Sequence[int] = (30, 12, 9, 14, 7, 11, 6, 13, 4, 10)

# Type of member: weight, first and last year of birth.
MEMBER_TYPES: dict[str, tuple[int, int, int]] = {
    "adult": (48, 1962, 1999),
    "child": (20, 2011, 2019),
    "student": (18, 1998, 2007),
    "senior": (14, 1936, 1960),
}

# Names that only authors have.
AUTHOR_FIRST_NAMES: Sequence[str] = (
    "Aoife", "Chidi", "Claire", "Dieter", "Elena", "Etienne", "Ingrid", "Javier", "Ngozi", "Ravi",
)  # fmt: skip
AUTHOR_LAST_NAMES: Sequence[str] = (
    "Adeyemi", "Beaumont", "Castellano", "Dubois", "Eze", "Fischer", "Iyer", "Moreau", "O'Brien", "Vogel",
)  # fmt: skip
NATIONALITIES: dict[str, int] = {
    "British": 34, "Irish": 12, "French": 10, "American": 18, "German": 7, "Nigerian": 6, "Indian": 8, "Canadian": 5,
    "Spanish": 4,
}  # fmt: skip

ADJECTIVES: Sequence[str] = (
    "Amber", "Ancient", "Borrowed", "Broken", "Burning", "Crooked", "Distant", "Empty", "Forgotten", "Frozen", "Gilded",
    "Hidden", "Hollow", "Last", "Little", "Lost", "Midnight", "Missing", "Patient", "Quiet", "Restless", "Scarlet",
    "Second", "Silent", "Silver", "Stolen", "Unfinished", "Winter",
)  # fmt: skip
NOUNS: Sequence[str] = (
    "Archive", "Bridge", "Cartographer", "Clockmaker", "Coast", "Daughter", "Doctor", "Engine", "Envoy", "Garden",
    "Ghost", "Harbour", "Island", "Kingdom", "Lantern", "Letter", "Lighthouse", "Map", "Mirror", "Mountain", "Orchard",
    "Piano", "Promise", "River", "Season", "Sister", "Station", "Tide", "Village", "Witness",
)  # fmt: skip
TOPICS: Sequence[str] = (
    "Bees", "Bread", "Bridges", "Canals", "Chess", "Climate", "Coal", "Gardening", "Glass", "Money", "Mushrooms",
    "Numbers", "Railways", "Salt", "Sleep", "Steel", "Tea", "Volcanoes", "Weather", "Wool",
)  # fmt: skip
NON_FICTION_TITLES: Sequence[str] = (
    "A Short History of {}",
    "The Science of {}",
    "{} for Beginners",
    "The Secret Life of {}",
)
NON_FICTION = frozenset({"history", "science", "cookery"})
GENRES: dict[str, int] = {
    "crime": 20, "fantasy": 12, "literary fiction": 18, "children": 16, "history": 7, "science": 7, "cookery": 5,
    "romance": 10,
}  # fmt: skip
LANGUAGES: dict[str, int] = {"English": 82, "French": 7, "Polish": 5, "Urdu": 3, "Spanish": 3}
PUBLISHERS: Sequence[str | None] = (
    "Larkfield", "Peverel & Sons", "Northlight Press", "Quayside", "Three Owls", None,
)  # fmt: skip


def _day(random: Random, first: date, last: date) -> date:
    """Choose a day from the first to the last."""
    return first + timedelta(days=random.randint(0, (last - first).days))


def _one_of(random: Random, weights: Mapping[str, int]) -> str:
    """Choose one of the keys by its weight."""
    return random.choices(list(weights), list(weights.values()))[0]


def _names(
    random: Random, first_names: Sequence[str], last_names: Sequence[str], count: int
) -> Iterable[tuple[int, tuple[str, str]]]:
    """Choose different pairs of a first and a last name, and number them."""
    return enumerate(random.sample(list(product(first_names, last_names)), count), start=1)


def _numbered(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Put the number of each row in front of it."""
    return [(number, *row) for number, row in enumerate(rows, start=1)]


def _depot(random: Random) -> int:
    """Choose a depot."""
    return random.choices(range(1, len(DEPOTS) + 1), DEPOT_WEIGHTS)[0]


def _vehicles(random: Random) -> list[Vehicle]:
    """Make up the vehicles; the first ones see to it that every depot has one."""
    vehicles: list[Vehicle] = []
    for number in range(1, VEHICLE_COUNT + 1):
        depot = number if number <= len(DEPOTS) else _depot(random)
        name = _one_of(random, {name: kind.weight for name, kind in VEHICLE_TYPES.items()})
        year = random.randint(2014, 2024)
        letters = "".join(random.choice("ABCDEFGHJKLMNOPRSTUVWXY") for _ in range(3))
        plate = f"{random.choice('YMN')}{random.choice('ABCDEFHJK')}{year % 100:02d} {letters}"
        inspected = None if random.random() < 0.12 else _day(random, date(2024, 9, 1), LAST_DAY)
        fuel = random.choice(VEHICLE_TYPES[name].fuels)
        payload = random.choice(VEHICLE_TYPES[name].payloads)
        status = random.choices("AMRX", (70, 14, 10, 6))[0]
        vehicles.append(Vehicle(number, depot, plate, name, fuel, year, payload, inspected, status))
    return vehicles


def _drivers(random: Random) -> list[Driver]:
    """Make up the drivers; the first ones see to it that every depot has one who stays."""
    drivers: list[Driver] = []
    for number, (first, last) in _names(random, FIRST_NAMES, LAST_NAMES, DRIVER_COUNT):
        depot = number if number <= len(DEPOTS) else _depot(random)
        if number <= 45:
            hired = _day(random, date(2023, 1, 2), date(2023, 2, 10))
        else:
            hired = _day(random, date(2023, 3, 1), date(2025, 8, 31))
        left: date | None = None
        if number > len(DEPOTS) and random.random() < 0.2 and hired < date(2025, 3, 1):
            left = _day(random, hired + timedelta(days=150), LAST_DAY)
        phone: str | None = None
        if random.random() >= 0.1:
            phone = f"07{random.randint(100, 999)} {random.randint(100000, 999999)}"
        licence = random.choices(("C", "CE", "C1", "B"), (30, 45, 15, 10))[0]
        rate = round(random.uniform(13.2, 21.8), 2)
        drivers.append(Driver(number, depot, first, last, licence, hired, left, rate, phone))
    return drivers


def _customers(random: Random) -> tuple[list[Customer], list[float]]:
    """Make up the customers, with how often each books a shipment."""
    customers: list[Customer] = []
    keenness: list[float] = []
    taken: set[str] = set()
    for number in range(1, CUSTOMER_COUNT + 1):
        industry = _one_of(random, {name: weight for name, (weight, _) in INDUSTRIES.items()})
        while True:
            name = f"{random.choice(COMPANY_NAMES)} {random.choice(INDUSTRIES[industry][1])}"
            if name not in taken:
                taken.add(name)
                break
        if number <= 80:
            signed = _day(random, date(2023, 1, 3), date(2023, 6, 30))
        else:
            signed = _day(random, date(2023, 7, 1), date(2025, 9, 15))
        handle = "".join(character for character in name.lower() if character.isalnum())
        email = None if random.random() < 0.15 else f"dispatch@{handle}.example"
        town = random.choice(TOWNS)
        limit = random.choice(CREDIT_LIMITS)
        terms = random.choices(("N14", "N30", "N60", "PP"), (20, 55, 15, 10))[0]
        customers.append(Customer(number, name, industry, town, email, signed, limit, terms))
        keenness.append(0.0 if number in IDLE_CUSTOMERS else min(14.0, random.paretovariate(1.4)))
    return customers, keenness


def _driver(random: Random, drivers: Sequence[Driver], depot_id: int, shipped: date, arrived: date) -> int:
    """Choose a driver of a depot who works there for the whole of a shipment."""
    return random.choice(
        [
            driver.driver_id
            for driver in drivers
            if driver.depot_id == depot_id
            and driver.driver_id not in IDLE_DRIVERS
            and driver.hired_on <= shipped
            and (driver.left_on is None or driver.left_on >= arrived)
        ]
    )


def _status(random: Random, is_cancelled: bool, shipped: date, arrived: date) -> str:
    """Say how far a shipment has come; a few are stuck on the road."""
    if is_cancelled:
        return "cancelled"
    if shipped > LAST_DAY:
        return "booked"
    return "in transit" if arrived > LAST_DAY or random.random() < 0.015 else "delivered"


def _stops(
    random: Random, shipment_id: int, planned: Sequence[date], arrivals: Sequence[date]
) -> list[tuple[object, ...]]:
    """Make up the stops of a shipment, without their numbers."""
    stops: list[tuple[object, ...]] = []
    for place, (day, arrival) in enumerate(zip(planned, arrivals, strict=True), start=1):
        arrived = arrival if arrival <= LAST_DAY else None
        outcome: str | None = None
        if arrived is not None:
            outcome = random.choices("DFR", (96, 0, 4) if place == len(planned) else (84, 9, 7))[0]
        town = random.choice(TOWNS)
        stops.append((shipment_id, place, town, day, arrived, round(random.uniform(6, 190), 1), outcome))
    return stops


def _invoice(random: Random, shipment: Shipment, stop_count: int) -> Invoice | None:
    """Make up the invoice of a shipment; a few delivered ones have none."""
    if shipment.delivered_on is None or random.random() >= 0.95:
        return None
    issued = shipment.delivered_on + timedelta(days=random.randint(0, 6))
    if issued > LAST_DAY:
        return None
    days = random.choice((14, 30, 30, 30, 60))
    due = issued + timedelta(days=days)
    paid: date | None = issued + timedelta(days=max(1, int(random.gauss(days - 3, 9))))
    if paid is not None and (paid > LAST_DAY or random.random() < 0.05):
        paid = None
    freight = shipment.weight**0.72 * RATES[shipment.service_level] * random.uniform(0.85, 1.2)
    net = round(38 + freight + 21.5 * stop_count, 2)
    dunning = random.choice("12L") if paid is None and due < LAST_DAY else None
    return Invoice(shipment.shipment_id, issued, due, paid, net, round(net * 0.2, 2), dunning)


def _deliveries(
    random: Random, vehicles: Sequence[Vehicle], drivers: Sequence[Driver], bookings: Sequence[tuple[date, int]]
) -> dict[str, Sequence[tuple[object, ...]]]:
    """Make up the shipments, their stops and their invoices."""
    shipments: list[Shipment] = []
    stops: list[tuple[object, ...]] = []
    invoices: list[Invoice] = []
    for shipment_id, (booked, customer_id) in enumerate(bookings, start=1):
        depot_id = _depot(random)
        level = _one_of(random, SERVICE_LEVELS)
        load = random.choices("PTDH", (50, 25, 18, 7))[0]
        waits = {"express": 1, "standard": random.randint(1, 4), "economy": random.randint(2, 9)}
        shipped = booked + timedelta(days=waits[level])
        stop_count = random.choices((1, 2, 3, 4), (45, 30, 17, 8))[0]
        vehicle = random.choice([vehicle for vehicle in vehicles if vehicle.depot_id == depot_id])
        weight = round(min(vehicle.payload, max(25, random.lognormvariate(7.2, 1.1))), 1)
        value = None if random.random() < 0.18 else round(weight * random.uniform(1.5, 14), 2)
        is_cancelled = random.random() < 0.06
        steps = random.choices((0, 1, 2), (45, 45, 10), k=stop_count)
        planned = [shipped + timedelta(days=days) for days in accumulate(steps)]
        delays = random.choices((0, 1, 3), (80, 15, 5), k=stop_count)
        late = [day + timedelta(days=delay) for day, delay in zip(planned, delays, strict=True)]
        arrivals = list(accumulate(late, max))
        status = _status(random, is_cancelled, shipped, arrivals[-1])
        if status == "in transit":
            # Also of a shipment that is stuck, the last stop is still open.
            arrivals[-1] = date.max
        has_left = status in ("in transit", "delivered")
        shipment = Shipment(
            shipment_id,
            customer_id,
            depot_id,
            vehicle.vehicle_id if has_left else None,
            _driver(random, drivers, depot_id, shipped, arrivals[-1]) if has_left else None,
            level,
            load,
            weight,
            value,
            booked,
            shipped if has_left else None,
            arrivals[-1] if status == "delivered" else None,
            status,
        )
        shipments.append(shipment)
        if not is_cancelled:
            stops += _stops(random, shipment_id, planned, arrivals)
        invoice = _invoice(random, shipment, stop_count)
        if invoice is not None:
            invoices.append(invoice)
    invoices.sort(key=lambda one: (one.issued_on, one.shipment_id))
    return {"shipments": shipments, "delivery_stops": _numbered(stops), "invoices": _numbered(invoices)}


def _maintenance_jobs(random: Random, vehicles: Sequence[Vehicle]) -> list[MaintenanceJob]:
    """Make up the maintenance jobs; older vehicles have more of them."""
    repaired = [vehicle for vehicle in vehicles if vehicle.vehicle_id not in UNREPAIRED_VEHICLES]
    jobs: list[MaintenanceJob] = []
    for _ in range(MAINTENANCE_JOB_COUNT):
        vehicle = random.choices(repaired, [2026 - vehicle.model_year for vehicle in repaired])[0]
        weights = {name: weight for name, (_, weight) in JOB_TYPES.items()}
        if vehicle.vehicle_type != "refrigerated truck":
            del weights["refrigeration"]
        name = _one_of(random, weights)
        done = _day(random, date(2023, 1, 5), LAST_DAY)
        odometer = None if random.random() < 0.1 else random.randint(12000, 690000)
        usual = JOB_TYPES[name][0] * VEHICLE_TYPES[vehicle.vehicle_type].cost_factor
        cost = round(usual * random.uniform(0.7, 1.5), 2)
        jobs.append(MaintenanceJob(vehicle.vehicle_id, name, done, odometer, cost, random.choice(WORKSHOPS)))
    return sorted(jobs, key=lambda job: (job.done_on, job.vehicle_id))


def _freight_tables(random: Random) -> dict[str, Sequence[tuple[object, ...]]]:
    """Make up the rows of every table of the freight carrier, in an order that keeps the foreign keys."""
    vehicles = _vehicles(random)
    drivers = _drivers(random)
    customers, keenness = _customers(random)
    bookings: list[tuple[date, int]] = []
    for _ in range(SHIPMENT_COUNT):
        customer = random.choices(customers, keenness)[0]
        booked = _day(random, max(customer.signed_on, date(2023, 2, 1)), LAST_DAY)
        bookings.append((booked, customer.customer_id))
    return {
        "depots": DEPOTS,
        "vehicles": vehicles,
        "drivers": drivers,
        "customers": customers,
        **_deliveries(random, vehicles, drivers, sorted(bookings)),
        "maintenance_jobs": _numbered(_maintenance_jobs(random, vehicles)),
    }


def _branch(random: Random) -> int:
    """Choose a branch."""
    return random.choices(range(1, len(BRANCHES) + 1), BRANCH_WEIGHTS)[0]


def _members(random: Random) -> tuple[list[Member], list[float]]:
    """Make up the members, with how often each borrows."""
    members: list[Member] = []
    keenness: list[float] = []
    for number, (first, last) in _names(random, FIRST_NAMES, LAST_NAMES, MEMBER_COUNT):
        name = _one_of(random, {name: weight for name, (weight, _, _) in MEMBER_TYPES.items()})
        if number <= 230:
            joined = _day(random, date(2023, 1, 3), date(2023, 8, 31))
        else:
            joined = _day(random, date(2023, 9, 1), date(2025, 10, 15))
        email = None if random.random() < 0.2 else f"{first.lower()}.{last.lower()}@mail.example"
        branch = _branch(random)
        born = None if random.random() < 0.08 else random.randint(*MEMBER_TYPES[name][1:])
        status = random.choices("ASX", (86, 8, 6))[0]
        members.append(Member(number, branch, first, last, born, email, name, joined, status))
        keenness.append(0.0 if random.random() < 0.07 else min(14.0, random.paretovariate(1.6)))
    return members, keenness


def _authors(random: Random) -> list[tuple[object, ...]]:
    """Make up the authors."""
    first_names = (*FIRST_NAMES, *AUTHOR_FIRST_NAMES)
    last_names = (*LAST_NAMES, *AUTHOR_LAST_NAMES)
    return [
        (
            number,
            first,
            last,
            None if random.random() < 0.07 else _one_of(random, NATIONALITIES),
            None if random.random() < 0.15 else random.randint(1921, 1994),
        )
        for number, (first, last) in _names(random, first_names, last_names, AUTHOR_COUNT)
    ]


def _titles(random: Random) -> tuple[list[Title], list[tuple[int, int, int]], list[float]]:
    """Make up the titles, who wrote each, and how popular each is; no one borrows the least popular."""
    author_weights = [min(10.0, random.paretovariate(1.2)) for _ in range(AUTHOR_COUNT)]
    fiction = [f"The {adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
    non_fiction = [form.format(topic) for topic in TOPICS for form in NON_FICTION_TITLES]
    random.shuffle(fiction)
    random.shuffle(non_fiction)
    titles: list[Title] = []
    title_authors: list[tuple[int, int, int]] = []
    popularity: list[float] = []
    for number in range(1, TITLE_COUNT + 1):
        genre = _one_of(random, GENRES)
        name = (non_fiction if genre in NON_FICTION else fiction).pop()
        language = _one_of(random, LANGUAGES)
        isbn = (
            f"978-{random.randint(0, 9)}-{random.randint(1000, 9999)}-{random.randint(1000, 9999)}"
            f"-{random.randint(0, 9)}"
        )
        year = min(2025, int(random.triangular(1968, 2026, 2018)))
        shortest, longest = (24, 220) if genre == "children" else (140, 720)
        pages = None if random.random() < 0.06 else random.randint(shortest, longest)
        titles.append(Title(number, name, genre, language, year, pages, random.choice(PUBLISHERS), isbn))
        count = random.choices((1, 2, 3), (80, 16, 4))[0]
        authors = dict.fromkeys(random.choices(range(1, AUTHOR_COUNT + 1), author_weights, k=count))
        title_authors += [(number, author, place) for place, author in enumerate(authors, start=1)]
        popularity.append(0.0 if random.random() < 0.04 else min(6.0, random.paretovariate(2.0)))
    return titles, title_authors, popularity


def _copies(random: Random, titles: Sequence[Title], popularity: Sequence[float]) -> list[Copy]:
    """Make up the copies: one of every title that is borrowed at all, and more of the popular ones."""
    owned = [title for title, weight in zip(titles, popularity, strict=True) if weight > 0]
    owned += random.choices(titles, popularity, k=COPY_COUNT - len(owned))
    random.shuffle(owned)
    copies: list[Copy] = []
    for number, title in enumerate(owned, start=1):
        if random.random() < 0.55:
            acquired = _day(random, date(2023, 1, 2), date(2023, 3, 31))
        else:
            acquired = _day(random, date(2023, 4, 1), date(2025, 9, 30))
        lowest, highest = (4.5, 13) if title.genre == "children" else (6.5, 29)
        price = round(random.uniform(lowest, highest), 2)
        branch = _branch(random)
        condition = random.choices(("new", "good", "fair", "poor"), (16, 48, 25, 11))[0]
        shelf = None if random.random() < 0.05 else random.choice(("F1", "F2", "N1", "N3", "J1", "RS"))
        barcode = f"B{300000 + number * 7}"
        copies.append(Copy(number, title.title_id, branch, barcode, acquired, price, condition, shelf))
    return copies


def _loans(
    random: Random,
    copies: Sequence[Copy],
    popularity: Sequence[float],
    members: Sequence[Member],
    keenness: Sequence[float],
) -> list[Loan]:
    """Make up the loans; no copy is lent while it is out, and a few never come back."""
    demand = [popularity[copy.title_id - 1] * min(3.0, random.paretovariate(2.0)) for copy in copies]
    free_from = {copy.copy_id: copy.acquired_on for copy in copies}
    loans: list[Loan] = []
    attempt = 0
    while len(loans) < LOAN_COUNT:
        attempt += 1
        copy = random.choices(copies, demand)[0] if attempt % 3 else random.choice(copies)
        member = random.choices(members, keenness)[0]
        loaned = max(free_from[copy.copy_id], member.joined_on) + timedelta(days=random.randint(1, 70))
        if loaned > LAST_DAY:
            continue
        renewals = random.choices((0, 1, 2, 3), (70, 18, 8, 4))[0]
        renewals = min(renewals, (LAST_DAY - loaned).days // LOAN_DAYS)
        due = loaned + timedelta(days=LOAN_DAYS * (1 + renewals))
        fate = random.random()
        returned: date | None = None
        if fate >= 0.012:
            returned = loaned + timedelta(days=random.randint(2, LOAN_DAYS) + LOAN_DAYS * renewals)
            if fate < 0.17:
                returned = due + timedelta(days=random.randint(1, 40))
            if returned > LAST_DAY:
                returned = None
        free_from[copy.copy_id] = returned or LAST_DAY
        loans.append(Loan(copy.copy_id, member.member_id, loaned, due, returned, renewals))
    return sorted(loans, key=lambda loan: (loan.loaned_on, loan.copy_id))


def _fine(random: Random, loan_id: int, loan: Loan, price: float) -> Fine | None:
    """Make up the fine for a loan, if there is one; a copy counts as lost 60 days after it was due."""
    charged = loan.returned_on or loan.due_on + timedelta(days=60)
    if loan.returned_on is None:
        if charged > LAST_DAY:
            return None
        reason, amount = "lost item", price + 3.5
    elif loan.returned_on > loan.due_on:
        if random.random() >= 0.85:
            return None
        reason, amount = "late return", 0.25 * (loan.returned_on - loan.due_on).days + 0.5
    elif random.random() < 0.025:
        reason, amount = "damaged item", random.uniform(2, 14)
    else:
        return None
    paid = charged + timedelta(days=random.randint(0, 90)) if random.random() < 0.72 else None
    if paid is not None and paid > LAST_DAY:
        paid = None
    return Fine(loan_id, reason, round(amount, 2), charged, paid)


def _reservations(random: Random, members: Sequence[Member], popularity: Sequence[float]) -> list[Reservation]:
    """Make up the reservations; only late ones are still open."""
    weights = [weight + 0.05 for weight in popularity]
    reservations: list[Reservation] = []
    for _ in range(RESERVATION_COUNT):
        member = random.choice(members)
        reserved = _day(random, member.joined_on, LAST_DAY)
        title_id = random.choices(range(1, TITLE_COUNT + 1), weights)[0]
        branch = member.branch_id if random.random() < 0.75 else _branch(random)
        status = random.choices(("collected", "expired", "cancelled"), (74, 12, 14))[0]
        if reserved > date(2025, 9, 20):
            status = random.choice(("waiting", "ready", "collected"))
        ready: date | None = None
        if status in ("collected", "expired", "ready"):
            ready = min(LAST_DAY, reserved + timedelta(days=random.randint(1, 24)))
        reservations.append(Reservation(title_id, member.member_id, branch, reserved, ready, status))
    return sorted(reservations, key=lambda reservation: (reservation.reserved_on, reservation.member_id))


def _library_tables(random: Random) -> dict[str, Sequence[tuple[object, ...]]]:
    """Make up the rows of every table of the library, in an order that keeps the foreign keys."""
    members, keenness = _members(random)
    authors = _authors(random)
    titles, title_authors, popularity = _titles(random)
    copies = _copies(random, titles, popularity)
    loans: list[tuple[object, ...]] = []
    fines: list[Fine] = []
    for loan_id, loan in enumerate(_loans(random, copies, popularity, members, keenness), start=1):
        loans.append((loan_id, *loan, random.choices("KDT", (62, 28, 10))[0]))
        fine = _fine(random, loan_id, loan, copies[loan.copy_id - 1].price)
        if fine is not None:
            fines.append(fine)
    fines.sort(key=lambda fine: (fine.charged_on, fine.loan_id))
    return {
        "branches": BRANCHES,
        "members": members,
        "authors": authors,
        "titles": titles,
        "title_authors": title_authors,
        "copies": copies,
        "loans": loans,
        "fines": _numbered(fines),
        "reservations": _numbered(_reservations(random, members, popularity)),
    }


def create_freight(path: Path) -> None:
    """Create the freight carrier's database at the path, replacing a file that is there."""
    create(path, FREIGHT_SCHEMA, _freight_tables(Random(FREIGHT_SEED)))


def create_library(path: Path) -> None:
    """Create the library's database at the path, replacing a file that is there."""
    create(path, LIBRARY_SCHEMA, _library_tables(Random(LIBRARY_SEED)))
