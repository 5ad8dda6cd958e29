"""A made-up outpatient clinic with several sites, as a SQLite database.

Everything is drawn from one seeded random generator, so that the same database comes out every time.
The records were "exported" on 24 June 2025 at noon: later appointments are booked and not yet held.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.domains import create

SEED = 20250615
FIRST_DAY = date(2023, 1, 2)
LAST_DAY = date(2025, 6, 30)
EXPORTED_AT = datetime(2025, 6, 24, 12, 0)
PATIENT_COUNT = 640
APPOINTMENT_COUNT = 1700
WALK_IN_COUNT = 200

SCHEMA = """
CREATE TABLE sites (
    site_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    town TEXT NOT NULL,
    rooms INTEGER NOT NULL,
    opened_on TEXT NOT NULL,
    closed_on TEXT,
    status TEXT NOT NULL CHECK (status IN ('O', 'C'))
);
CREATE TABLE practitioners (
    practitioner_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('GP', 'SP', 'NP', 'RN', 'PT')),
    specialty TEXT,
    site_id INTEGER NOT NULL REFERENCES sites (site_id),
    hired_on TEXT NOT NULL,
    left_on TEXT,
    status TEXT NOT NULL CHECK (status IN ('A', 'L', 'X'))
);
CREATE TABLE patients (
    patient_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sex TEXT NOT NULL CHECK (sex IN ('F', 'M', 'X')),
    born_on TEXT NOT NULL,
    town TEXT NOT NULL,
    phone TEXT,
    email TEXT,
    site_id INTEGER NOT NULL REFERENCES sites (site_id),
    practitioner_id INTEGER REFERENCES practitioners (practitioner_id),
    coverage TEXT CHECK (coverage IN ('PUB', 'PRV', 'EMP')),
    registered_on TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('A', 'M', 'D')),
    closed_on TEXT,
    CHECK ((status = 'A') = (closed_on IS NULL))
);
CREATE TABLE appointments (
    appointment_id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES patients (patient_id),
    practitioner_id INTEGER NOT NULL REFERENCES practitioners (practitioner_id),
    site_id INTEGER NOT NULL REFERENCES sites (site_id),
    type TEXT NOT NULL CHECK (type IN ('NEW', 'FUP', 'CHK', 'VAC', 'TEL')),
    booked_on TEXT NOT NULL,
    booked_via TEXT NOT NULL CHECK (booked_via IN ('W', 'P', 'D')),
    starts_at TEXT NOT NULL,
    minutes INTEGER NOT NULL CHECK (minutes > 0),
    status TEXT NOT NULL CHECK (status IN ('BK', 'DN', 'NS', 'CP', 'CC')),
    cancelled_on TEXT,
    CHECK ((status IN ('CP', 'CC')) = (cancelled_on IS NOT NULL))
);
CREATE TABLE visits (
    visit_id INTEGER PRIMARY KEY,
    appointment_id INTEGER UNIQUE REFERENCES appointments (appointment_id),
    patient_id INTEGER NOT NULL REFERENCES patients (patient_id),
    practitioner_id INTEGER NOT NULL REFERENCES practitioners (practitioner_id),
    site_id INTEGER NOT NULL REFERENCES sites (site_id),
    started_at TEXT NOT NULL,
    ended_at TEXT,
    urgency INTEGER CHECK (urgency BETWEEN 1 AND 4),
    outcome TEXT CHECK (outcome IN ('HOM', 'FUP', 'REF', 'ADM')),
    CHECK ((ended_at IS NULL) = (outcome IS NULL))
);
CREATE TABLE diagnoses (
    diagnosis_id INTEGER PRIMARY KEY,
    visit_id INTEGER NOT NULL REFERENCES visits (visit_id),
    code TEXT NOT NULL,
    description TEXT NOT NULL,
    rank TEXT NOT NULL CHECK (rank IN ('P', 'S')),
    chronic INTEGER NOT NULL CHECK (chronic IN (0, 1))
);
CREATE TABLE prescriptions (
    prescription_id INTEGER PRIMARY KEY,
    visit_id INTEGER NOT NULL REFERENCES visits (visit_id),
    drug TEXT NOT NULL,
    drug_class TEXT NOT NULL,
    controlled INTEGER NOT NULL CHECK (controlled IN (0, 1)),
    issued_on TEXT NOT NULL,
    days INTEGER NOT NULL CHECK (days > 0),
    refills INTEGER NOT NULL DEFAULT 0,
    stopped_on TEXT
);
CREATE TABLE lab_results (
    lab_result_id INTEGER PRIMARY KEY,
    visit_id INTEGER NOT NULL REFERENCES visits (visit_id),
    test TEXT NOT NULL,
    ordered_on TEXT NOT NULL,
    reported_on TEXT,
    value REAL,
    unit TEXT NOT NULL,
    flag TEXT CHECK (flag IN ('N', 'L', 'H', 'C')),
    CHECK ((reported_on IS NULL) = (value IS NULL) AND (value IS NULL) = (flag IS NULL))
);
CREATE TABLE invoices (
    invoice_id INTEGER PRIMARY KEY,
    visit_id INTEGER NOT NULL UNIQUE REFERENCES visits (visit_id),
    issued_on TEXT NOT NULL,
    due_on TEXT NOT NULL,
    amount REAL NOT NULL CHECK (amount > 0),
    status TEXT NOT NULL CHECK (status IN ('OPN', 'PRT', 'PD', 'VD', 'WO')),
    paid_on TEXT,
    CHECK ((status = 'PD') = (paid_on IS NOT NULL))
);
CREATE TABLE payments (
    payment_id INTEGER PRIMARY KEY,
    invoice_id INTEGER NOT NULL REFERENCES invoices (invoice_id),
    received_on TEXT NOT NULL,
    amount REAL NOT NULL CHECK (amount > 0),
    method TEXT NOT NULL CHECK (method IN ('INS', 'CRD', 'CSH', 'TRF'))
);
CREATE TABLE code_list (
    field TEXT NOT NULL,
    code TEXT NOT NULL,
    meaning TEXT NOT NULL,
    PRIMARY KEY (field, code)
);
CREATE INDEX appointments_by_start ON appointments (starts_at);
CREATE INDEX visits_by_patient ON visits (patient_id);
CREATE INDEX payments_by_invoice ON payments (invoice_id);
"""

CODE_LIST: Sequence[tuple[str, str, str]] = (
    ("sites.status", "O", "open"),
    ("sites.status", "C", "closed for good"),
    ("practitioners.role", "GP", "general practitioner"),
    ("practitioners.role", "SP", "specialist doctor"),
    ("practitioners.role", "NP", "nurse practitioner"),
    ("practitioners.role", "RN", "registered nurse"),
    ("practitioners.role", "PT", "physiotherapist"),
    ("practitioners.status", "A", "working"),
    ("practitioners.status", "L", "on long leave"),
    ("practitioners.status", "X", "has left the clinic"),
    ("patients.coverage", "PUB", "public health insurance"),
    ("patients.coverage", "PRV", "private health insurance"),
    ("patients.coverage", "EMP", "covered by the employer"),
    ("patients.coverage", "(empty)", "no insurance, pays out of pocket"),
    ("patients.status", "A", "active"),
    ("patients.status", "M", "moved away or changed clinic"),
    ("patients.status", "D", "deceased"),
    ("appointments.type", "NEW", "first consultation"),
    ("appointments.type", "FUP", "follow-up"),
    ("appointments.type", "CHK", "health check"),
    ("appointments.type", "VAC", "vaccination"),
    ("appointments.type", "TEL", "telephone or video consultation"),
    ("appointments.booked_via", "W", "web portal"),
    ("appointments.booked_via", "P", "phone"),
    ("appointments.booked_via", "D", "front desk"),
    ("appointments.status", "BK", "booked, not yet held"),
    ("appointments.status", "DN", "done, the patient was seen"),
    ("appointments.status", "NS", "no-show"),
    ("appointments.status", "CP", "cancelled by the patient"),
    ("appointments.status", "CC", "cancelled by the clinic"),
    ("visits.appointment_id", "(empty)", "walk-in, no appointment"),
    ("visits.ended_at", "(empty)", "patient still in the clinic"),
    ("visits.urgency", "1", "immediate"),
    ("visits.urgency", "2", "urgent"),
    ("visits.urgency", "3", "standard"),
    ("visits.urgency", "4", "minor"),
    ("visits.urgency", "(empty)", "not triaged, came by appointment"),
    ("visits.outcome", "HOM", "discharged home"),
    ("visits.outcome", "FUP", "to be seen again"),
    ("visits.outcome", "REF", "referred to another provider"),
    ("visits.outcome", "ADM", "sent to hospital for admission"),
    ("diagnoses.rank", "P", "main diagnosis"),
    ("diagnoses.rank", "S", "secondary diagnosis"),
    ("prescriptions.drug_class", "ABX", "antibiotic"),
    ("prescriptions.drug_class", "ANL", "painkiller"),
    ("prescriptions.drug_class", "DIA", "diabetes drug"),
    ("prescriptions.drug_class", "CVS", "heart and blood pressure drug"),
    ("prescriptions.drug_class", "RSP", "asthma and airway drug"),
    ("prescriptions.drug_class", "PSY", "drug for mental health"),
    ("prescriptions.drug_class", "DRM", "skin preparation"),
    ("prescriptions.drug_class", "ALG", "allergy drug"),
    ("prescriptions.stopped_on", "(empty)", "not stopped early"),
    ("lab_results.test", "HBA1C", "long-term blood sugar"),
    ("lab_results.test", "LDL", "LDL cholesterol"),
    ("lab_results.test", "CRP", "inflammation marker"),
    ("lab_results.test", "HGB", "haemoglobin"),
    ("lab_results.test", "TSH", "thyroid hormone"),
    ("lab_results.test", "K", "potassium"),
    ("lab_results.flag", "N", "within the normal range"),
    ("lab_results.flag", "L", "below the normal range"),
    ("lab_results.flag", "H", "above the normal range"),
    ("lab_results.flag", "C", "critical, call the practitioner"),
    ("lab_results.reported_on", "(empty)", "result still pending"),
    ("invoices.status", "OPN", "nothing paid yet"),
    ("invoices.status", "PRT", "partly paid"),
    ("invoices.status", "PD", "paid in full"),
    ("invoices.status", "VD", "void, issued by mistake"),
    ("invoices.status", "WO", "written off"),
    ("payments.method", "INS", "insurer or employer"),
    ("payments.method", "CRD", "card"),
    ("payments.method", "CSH", "cash"),
    ("payments.method", "TRF", "bank transfer"),
)


class Site(NamedTuple):
    """One clinic building."""

    site_id: int
    name: str
    town: str
    rooms: int
    opened_on: date
    closed_on: date | None
    weight: float
    no_show_factor: float


class Practitioner(NamedTuple):
    """One doctor, nurse or therapist."""

    practitioner_id: int
    name: str
    role: str
    specialty: str | None
    site_id: int
    hired_on: date
    left_on: date | None
    status: str


class Patient(NamedTuple):
    """One registered patient, with the lasting illnesses the diagnoses are drawn from."""

    patient_id: int
    name: str
    sex: str
    born_on: date
    site_id: int
    practitioner_id: int | None
    coverage: str | None
    registered_on: date
    status: str
    closed_on: date | None
    illnesses: tuple[str, ...]
    keenness: float


class Visit(NamedTuple):
    """One patient seen by one practitioner; kind is the appointment type, or WLK for a walk-in."""

    visit_id: int
    appointment_id: int | None
    patient: Patient
    practitioner: Practitioner
    site_id: int
    kind: str
    started_at: datetime
    ended_at: datetime | None
    urgency: int | None
    outcome: str | None


SITES: Sequence[Site] = (
    Site(1, "Northgate", "Westmere", 14, date(2009, 4, 1), None, 3.2, 0.9),
    Site(2, "Quayside", "Westmere", 9, date(2014, 9, 15), None, 2.3, 1.0),
    Site(3, "Mill Lane", "Caldford", 5, date(2011, 2, 7), date(2024, 3, 29), 1.1, 1.1),
    Site(4, "Elm Park", "Thornhaven", 8, date(2016, 6, 6), None, 1.9, 1.7),
    Site(5, "Station Road", "Caldford", 7, date(2019, 1, 14), None, 1.5, 1.2),
    Site(6, "Hillcrest", "Brackendale", 4, date(2024, 2, 5), None, 2.4, 0.6),
)

TOWNS: Sequence[str] = ("Westmere", "Caldford", "Thornhaven", "Brackendale", "Little Oving", "Sandwick Bay")

# Name, role, specialty, site, first and last day, status.
PRACTITIONERS: Sequence[tuple[str, str, str | None, int, str, str | None, str]] = (
    ("Dr Helena Marwick", "GP", None, 1, "2012-05-02", None, "A"),
    ("Dr Tobias Renn", "GP", None, 1, "2017-09-01", None, "A"),
    ("Dr Yasmin Adeyo", "GP", None, 1, "2021-03-15", None, "A"),
    ("Dr Ingrid Solvane", "SP", "Cardiology", 1, "2015-01-12", None, "A"),
    ("Dr Marcus Pell", "SP", "Dermatology", 1, "2018-06-04", "2024-08-30", "X"),
    ("Nora Whitlow", "NP", None, 1, "2019-10-07", None, "A"),
    ("Callum Brisk", "RN", None, 1, "2020-02-03", None, "A"),
    ("Priya Sandeep", "RN", None, 1, "2022-11-21", None, "A"),
    ("Dr Owen Tarrant", "GP", None, 2, "2014-09-15", None, "A"),
    ("Dr Lucia Ferrand", "GP", None, 2, "2020-08-17", None, "A"),
    ("Dr Kenji Aoba", "SP", "Orthopaedics", 2, "2019-03-04", None, "A"),
    ("Marta Lindqvist", "PT", "Physiotherapy", 2, "2018-01-08", None, "A"),
    ("Joel Haddon", "RN", None, 2, "2023-04-03", None, "A"),
    ("Dr Brian Oakes", "GP", None, 3, "2011-02-07", "2024-03-29", "X"),
    ("Dr Simone Vasser", "GP", None, 3, "2018-05-14", "2023-10-31", "X"),
    ("Edith Crane", "RN", None, 3, "2013-07-01", "2024-03-29", "X"),
    ("Dr Amara Nwosi", "GP", None, 4, "2016-06-06", None, "A"),
    ("Dr Felix Grauer", "GP", None, 4, "2022-01-10", None, "A"),
    ("Dr Rosalind Teague", "SP", "Paediatrics", 4, "2017-11-20", None, "A"),
    ("Hana Mirek", "NP", None, 4, "2021-06-28", None, "L"),
    ("Liam Castell", "RN", None, 4, "2024-01-15", None, "A"),
    ("Dr Stefan Orlov", "GP", None, 5, "2019-01-14", None, "A"),
    ("Dr Beatriz Quill", "GP", None, 5, "2023-09-04", None, "A"),
    ("Ruth Ambler", "PT", "Physiotherapy", 5, "2020-10-12", None, "L"),
    ("Gwen Farrow", "RN", None, 5, "2019-01-14", None, "A"),
    ("Dr Naveen Kallor", "GP", None, 6, "2024-02-05", None, "A"),
    ("Dr Charlotte Imrie", "SP", "Dermatology", 6, "2024-09-02", None, "A"),
    ("Sofia Bexley", "NP", None, 6, "2024-02-05", None, "A"),
    ("Dr Peter Langholm", "GP", None, 2, "2025-06-16", None, "A"),
)

FEMALE_NAMES: Sequence[str] = (
    "Alma", "Bettina", "Clara", "Dorothea", "Elif", "Fiona", "Greta", "Hilde", "Imogen", "Jana", "Keira", "Leonie",
    "Maeve", "Nadia", "Odette", "Paloma", "Rhea", "Sunniva", "Tamsin", "Ursula", "Vera", "Wanda", "Yolanda", "Zelda",
    "Anika", "Briony", "Celeste", "Delia",
)  # fmt: skip
MALE_NAMES: Sequence[str] = (
    "Arlo", "Bruno", "Casper", "Dmitri", "Emil", "Frank", "Gareth", "Hugo", "Idris", "Jonas", "Klaus", "Lorenzo",
    "Milo", "Nils", "Otis", "Pascal", "Quentin", "Rafael", "Silas", "Theo", "Ulric", "Viktor", "Walter", "Yusuf",
    "Anton", "Barnaby", "Cedric", "Desmond",
)  # fmt: skip
LAST_NAMES: Sequence[str] = (
    "Abbery", "Ashdown", "Barlow", "Bexton", "Birkett", "Bramwell", "Calder", "Carrow", "Corvin", "Dallow", "Denholm",
    "Draycott", "Eastlake", "Elstrom", "Fairley", "Fenwright", "Garrick", "Glenister", "Hallam", "Harrowby", "Iverson",
    "Jessop", "Kestrel", "Kirwan", "Lambourne", "Larkin", "Maddern", "Merrow", "Norling", "Oakhurst", "Ormond",
    "Pemberly", "Petrov", "Quarrie", "Radley", "Rivers", "Saltmarsh", "Sorrell", "Tamblyn", "Thackray", "Underhill",
    "Varga", "Venn", "Wexcombe", "Winslade", "Yarrow", "Yeoman", "Zeller",
)  # fmt: skip

# Code: description, lasting illness, weight among passing complaints.
DIAGNOSES: dict[str, tuple[str, bool, float]] = {
    "I10": ("High blood pressure", True, 0),
    "E11.9": ("Type 2 diabetes", True, 0),
    "J45.9": ("Asthma", True, 0),
    "E78.0": ("High cholesterol", True, 0),
    "F41.1": ("Generalised anxiety disorder", True, 0),
    "L20.9": ("Atopic eczema", True, 0),
    "M17.9": ("Osteoarthritis of the knee", True, 0),
    "E03.9": ("Underactive thyroid", True, 0),
    "J06.9": ("Upper respiratory infection", False, 9),
    "J10.1": ("Influenza", False, 3),
    "M54.5": ("Low back pain", False, 7),
    "N39.0": ("Urinary tract infection", False, 4),
    "H66.9": ("Middle ear infection", False, 3.4),
    "R51": ("Headache", False, 3),
    "K52.9": ("Stomach and bowel upset", False, 3.6),
    "S93.4": ("Sprained ankle", False, 2.2),
    "J30.1": ("Hay fever", False, 2.6),
    "L03.9": ("Skin infection", False, 2),
    "D50.9": ("Iron deficiency anaemia", False, 1.6),
    "Z00.0": ("General health check", False, 0),
    "Z23": ("Vaccination", False, 0),
}
WINTER_COMPLAINTS = frozenset({"J06.9", "J10.1", "H66.9"})

# Diagnosis code: what is prescribed for it, with how likely any prescription is.
TREATMENTS: dict[str, tuple[float, Sequence[str]]] = {
    "I10": (0.65, ("Lisinopril", "Amlodipine", "Bisoprolol")),
    "E11.9": (0.7, ("Metformin", "Metformin", "Gliclazide")),
    "J45.9": (0.7, ("Salbutamol", "Beclometasone")),
    "E78.0": (0.6, ("Atorvastatin",)),
    "F41.1": (0.6, ("Sertraline", "Sertraline", "Diazepam")),
    "L20.9": (0.7, ("Hydrocortisone cream",)),
    "M17.9": (0.5, ("Ibuprofen", "Codeine")),
    "J06.9": (0.25, ("Amoxicillin", "Paracetamol")),
    "J10.1": (0.3, ("Paracetamol",)),
    "M54.5": (0.55, ("Ibuprofen", "Ibuprofen", "Codeine", "Tramadol")),
    "N39.0": (0.9, ("Trimethoprim", "Nitrofurantoin")),
    "H66.9": (0.7, ("Amoxicillin", "Doxycycline")),
    "R51": (0.4, ("Paracetamol", "Ibuprofen")),
    "S93.4": (0.4, ("Ibuprofen",)),
    "J30.1": (0.8, ("Cetirizine",)),
    "L03.9": (0.85, ("Doxycycline", "Flucloxacillin")),
}

# Drug: class, controlled, days of supply to choose from.
DRUGS: dict[str, tuple[str, bool, Sequence[int]]] = {
    "Lisinopril": ("CVS", False, (28, 56, 84)),
    "Amlodipine": ("CVS", False, (28, 56, 84)),
    "Bisoprolol": ("CVS", False, (28, 56)),
    "Atorvastatin": ("CVS", False, (28, 56, 84)),
    "Metformin": ("DIA", False, (28, 56, 84)),
    "Gliclazide": ("DIA", False, (28, 56)),
    "Salbutamol": ("RSP", False, (30, 60)),
    "Beclometasone": ("RSP", False, (30, 60)),
    "Sertraline": ("PSY", False, (28, 56)),
    "Diazepam": ("PSY", True, (5, 7, 10)),
    "Hydrocortisone cream": ("DRM", False, (7, 14)),
    "Ibuprofen": ("ANL", False, (5, 7, 10)),
    "Paracetamol": ("ANL", False, (3, 5, 7)),
    "Codeine": ("ANL", True, (3, 5, 7)),
    "Tramadol": ("ANL", True, (5, 7, 14)),
    "Amoxicillin": ("ABX", False, (5, 7)),
    "Doxycycline": ("ABX", False, (7, 10)),
    "Trimethoprim": ("ABX", False, (3, 7)),
    "Nitrofurantoin": ("ABX", False, (3, 5)),
    "Flucloxacillin": ("ABX", False, (5, 7)),
    "Cetirizine": ("ALG", False, (14, 30)),
}

# Test: unit, mean, spread, lower and upper end of the normal range, critical value.
TESTS: dict[str, tuple[str, float, float, float, float, float]] = {
    "HBA1C": ("%", 6.1, 1.0, 4.0, 6.4, 8.2),
    "LDL": ("mmol/L", 3.0, 0.8, 1.0, 3.6, 5.0),
    "CRP": ("mg/L", 7.0, 9.0, 0.0, 10.0, 26.0),
    "HGB": ("g/dL", 13.6, 1.5, 12.0, 17.0, 17.8),
    "TSH": ("mIU/L", 2.6, 1.3, 0.4, 4.2, 5.3),
    "K": ("mmol/L", 4.2, 0.5, 3.5, 5.1, 5.3),
}
USUAL_TESTS: dict[str, Sequence[str]] = {
    "E11.9": ("HBA1C", "K"),
    "E78.0": ("LDL",),
    "I10": ("K", "LDL"),
    "E03.9": ("TSH",),
    "D50.9": ("HGB",),
    "J06.9": ("CRP",),
    "N39.0": ("CRP",),
    "Z00.0": ("LDL", "HBA1C", "HGB", "TSH"),
}

MONTH_WEIGHTS: Sequence[float] = (1.15, 1.05, 1.1, 0.95, 1.0, 0.95, 0.85, 0.65, 1.05, 1.15, 1.2, 0.8)
FEES: dict[str, float] = {"NEW": 140, "FUP": 85, "CHK": 110, "VAC": 35, "TEL": 55, "WLK": 95}
LENGTHS: dict[str, Sequence[int]] = {
    "NEW": (30, 45), "FUP": (15, 20, 30), "CHK": (30, 40), "VAC": (10,), "TEL": (15, 20), "WLK": (15, 20, 30),
}  # fmt: skip


def _minute(moment: datetime | None) -> str | None:
    """Write a date and time to the minute as text, and none as NULL."""
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def _practitioners() -> list[Practitioner]:
    """Turn the written list of practitioners into records."""
    return [
        Practitioner(
            number,
            name,
            role,
            specialty,
            site_id,
            date.fromisoformat(hired),
            None if left is None else date.fromisoformat(left),
            status,
        )
        for number, (name, role, specialty, site_id, hired, left, status) in enumerate(PRACTITIONERS, start=1)
    ]


def _working_days() -> tuple[list[date], list[float]]:
    """List the weekdays the clinic is open, with how busy each is; the clinic grows from year to year."""
    days: list[date] = []
    weights: list[float] = []
    day = FIRST_DAY
    while day <= LAST_DAY:
        if day.weekday() < 5 and (day.month, day.day) not in {(1, 1), (12, 25), (12, 26)}:
            days.append(day)
            growth = 1 + 0.5 * (day - FIRST_DAY).days / (LAST_DAY - FIRST_DAY).days
            weights.append(growth * MONTH_WEIGHTS[day.month - 1] * (1.25 if day.weekday() == 0 else 1.0))
        day += timedelta(days=1)
    return days, weights


def _open_on(site: Site, day: date) -> bool:
    """Say whether a site is open on a day."""
    return site.opened_on <= day and (site.closed_on is None or day <= site.closed_on)


def _staff(practitioners: Sequence[Practitioner], site_id: int, day: date) -> list[Practitioner]:
    """List who works at a site on a day; those on leave went at the start of 2025."""
    return [
        person
        for person in practitioners
        if person.site_id == site_id
        and person.hired_on <= day
        and (person.left_on is None or day <= person.left_on)
        and (person.status != "L" or day < date(2025, 1, 13))
        and person.hired_on < date(2025, 6, 1)
    ]


def _patients(random: Random, practitioners: Sequence[Practitioner]) -> list[Patient]:
    """Make up the patients."""
    patients: list[Patient] = []
    taken: set[str] = set()
    first_names = {"F": FEMALE_NAMES, "M": MALE_NAMES, "X": [*FEMALE_NAMES, *MALE_NAMES]}
    while len(patients) < PATIENT_COUNT:
        sex = random.choices(("F", "M", "X"), (53, 45, 2))[0]
        first = random.choice(first_names[sex])
        name = f"{first} {random.choice(LAST_NAMES)}"
        # A few people share a name, as they do in any register.
        if name in taken and random.random() > 0.05:
            continue
        taken.add(name)
        age_days = int(random.triangular(0.5, 93, 42) * 365.25)
        if random.random() < 0.42:
            registered = date(2018, 1, 8) + timedelta(days=random.randrange(1810))
        else:
            registered = FIRST_DAY + timedelta(days=random.randrange((EXPORTED_AT.date() - FIRST_DAY).days))
        born = min(date(2025, 1, 1) - timedelta(days=age_days), registered - timedelta(days=random.randrange(20, 90)))
        sites = [site for site in SITES if _open_on(site, registered)]
        site = random.choices(sites, [site.weight for site in sites])[0]
        doctors = [
            person.practitioner_id
            for person in practitioners
            if person.site_id == site.site_id and person.role == "GP" and person.left_on is None
        ]
        status = random.choices(("A", "M", "D"), (91, 7, 2))[0]
        closed: date | None = None
        if status != "A":
            since = max(registered, FIRST_DAY) + timedelta(days=60)
            if since < date(2025, 6, 1):
                closed = since + timedelta(days=random.randrange((date(2025, 6, 20) - since).days))
            else:
                status = "A"
        age = age_days / 365.25
        illnesses = tuple(
            code
            for code, young, old in (
                ("I10", 0.02, 0.42), ("E11.9", 0.02, 0.24), ("E78.0", 0.02, 0.3), ("J45.9", 0.12, 0.08),
                ("F41.1", 0.11, 0.07), ("L20.9", 0.09, 0.04), ("M17.9", 0.0, 0.22), ("E03.9", 0.03, 0.1),
            )
            if random.random() < (old if age > 50 else young)
        )  # fmt: skip
        coverage = random.choices(("PUB", "PRV", "EMP", None), (55, 22, 11, 12))[0]
        patients.append(
            Patient(
                len(patients) + 1,
                name,
                sex,
                born,
                site.site_id,
                random.choice(doctors) if doctors and random.random() < 0.78 else None,
                coverage,
                registered,
                status,
                closed,
                illnesses,
                0.0 if random.random() < 0.07 else random.gammavariate(3.0, 1.0) * (1 + 0.5 * min(len(illnesses), 3)),
            )
        )
    return patients


def _patient_on(random: Random, patients: Sequence[Patient], keenness: Sequence[float], day: date) -> Patient:
    """Choose a patient who is registered on a day; the keenness, added up, makes some come more often."""
    while True:
        patient = random.choices(patients, cum_weights=keenness)[0]
        if patient.registered_on <= day and (patient.closed_on is None or day < patient.closed_on):
            return patient


def _site_on(random: Random, patient: Patient, day: date) -> Site:
    """Choose where a patient is seen: mostly at the home site, if it is open."""
    home = SITES[patient.site_id - 1]
    if _open_on(home, day) and random.random() < 0.88:
        return home
    sites = [site for site in SITES if _open_on(site, day)]
    return random.choices(sites, [site.weight for site in sites])[0]


def _outcome(random: Random, urgency: int | None) -> str:
    """Choose how a visit ends."""
    if urgency is not None and urgency <= 2:
        return random.choices(("HOM", "FUP", "REF", "ADM"), (45, 20, 15, 20))[0]
    return random.choices(("HOM", "FUP", "REF", "ADM"), (62, 27, 10, 1))[0]


def _appointments(
    random: Random, patients: Sequence[Patient], practitioners: Sequence[Practitioner]
) -> tuple[list[tuple[object, ...]], list[Visit]]:
    """Make up the appointments, and a visit for each that was kept."""
    days, weights = _working_days()
    drawn = sorted(random.choices(days, weights, k=APPOINTMENT_COUNT))
    rows: list[tuple[object, ...]] = []
    visits: list[Visit] = []
    slots: set[tuple[int, datetime]] = set()
    keenness = list(accumulate(patient.keenness for patient in patients))
    for day in drawn:
        patient = _patient_on(random, patients, keenness, day)
        site = _site_on(random, patient, day)
        staff = _staff(practitioners, site.site_id, day)
        regular = [person for person in staff if person.practitioner_id == patient.practitioner_id]
        kind = random.choices(("NEW", "FUP", "CHK", "VAC", "TEL"), (22, 38, 15, 10, 15))[0]
        if kind == "VAC":
            nurses = [person for person in staff if person.role in ("RN", "NP")]
            practitioner = random.choice(nurses or staff)
        elif regular and random.random() < 0.6:
            practitioner = regular[0]
        else:
            practitioner = random.choice([person for person in staff if person.role != "RN"] or staff)
        while True:
            start = datetime(day.year, day.month, day.day, 8) + timedelta(minutes=15 * random.randrange(38))
            if (practitioner.practitioner_id, start) not in slots:
                slots.add((practitioner.practitioner_id, start))
                break
        booked = max(day - timedelta(days=int(random.expovariate(1 / 14))), patient.registered_on, date(2023, 1, 1))
        booked = min(booked, EXPORTED_AT.date(), day)
        via = random.choices(("W", "P", "D"), (30 + 25 * (day.year - 2023), 45, 20))[0]
        no_show = {"NEW": 0.12, "FUP": 0.08, "CHK": 0.10, "VAC": 0.07, "TEL": 0.04}[kind]
        no_show *= site.no_show_factor * (1.2 if via == "P" else 1.0)
        status = random.choices(("NS", "CP", "CC", "DN"), (no_show, 0.1, 0.035, 1 - no_show - 0.135))[0]
        if start >= EXPORTED_AT and status in ("NS", "DN"):
            status = "BK"
        cancelled: date | None = None
        if status in ("CP", "CC"):
            last = min(day, EXPORTED_AT.date())
            cancelled = booked + timedelta(days=random.randint(0, (last - booked).days))
        minutes = random.choice(LENGTHS[kind])
        number = len(rows) + 1
        rows.append(
            (
                number, patient.patient_id, practitioner.practitioner_id, site.site_id, kind, booked, via,
                _minute(start), minutes, status, cancelled,
            )
        )  # fmt: skip
        if status == "DN":
            began = start + timedelta(minutes=int(random.triangular(-5, 40, 6)))
            ended = began + timedelta(minutes=max(5, int(minutes * random.uniform(0.6, 1.5))))
            visits.append(
                Visit(0, number, patient, practitioner, site.site_id, kind, began, ended, None, _outcome(random, None))
            )
    return rows, visits


def _walk_ins(random: Random, patients: Sequence[Patient], practitioners: Sequence[Practitioner]) -> list[Visit]:
    """Make up the visits without an appointment; the last three are still going on."""
    days, weights = _working_days()
    past = [day for day in days if day < EXPORTED_AT.date()]
    cold = [weight * (1.5 if day.month in (11, 12, 1, 2) else 1.0) for day, weight in zip(days, weights, strict=True)]
    drawn = random.choices(past, cold[: len(past)], k=WALK_IN_COUNT - 3) + [EXPORTED_AT.date()] * 3
    keenness = list(accumulate(patient.keenness for patient in patients))
    visits: list[Visit] = []
    for place, day in enumerate(drawn):
        patient = _patient_on(random, patients, keenness, day)
        site = _site_on(random, patient, day)
        staff = [person for person in _staff(practitioners, site.site_id, day) if person.role in ("GP", "NP", "RN")]
        began = datetime(day.year, day.month, day.day, 8) + timedelta(minutes=random.randrange(560))
        urgency = random.choices((1, 2, 3, 4), (4, 18, 48, 30))[0]
        ended: datetime | None = began + timedelta(minutes=random.randrange(12, 70))
        outcome: str | None = _outcome(random, urgency)
        if place >= WALK_IN_COUNT - 3:
            began = EXPORTED_AT - timedelta(minutes=random.randrange(5, 45))
            ended = outcome = None
        visits.append(
            Visit(0, None, patient, random.choice(staff), site.site_id, "WLK", began, ended, urgency, outcome)
        )
    return visits


def _complaint(random: Random, month: int) -> str:
    """Choose a passing complaint; colds and influenza belong to the winter, hay fever to the spring."""
    codes = [code for code, (_, _, weight) in DIAGNOSES.items() if weight > 0]
    weights: list[float] = []
    for code in codes:
        weight = DIAGNOSES[code][2]
        if code in WINTER_COMPLAINTS:
            weight *= 1.9 if month in (11, 12, 1, 2) else 0.35 if code == "J10.1" else 0.8
        if code == "J30.1":
            weight *= 2.5 if month in (4, 5, 6) else 0.2
        weights.append(weight)
    return random.choices(codes, weights)[0]


def _codes_of(random: Random, visit: Visit) -> list[str]:
    """Choose the diagnoses of a visit, the main one first."""
    if visit.kind == "VAC":
        return ["Z23"]
    if visit.ended_at is None or (visit.kind == "TEL" and random.random() < 0.2):
        return []
    lasting = list(visit.patient.illnesses)
    random.shuffle(lasting)
    if visit.kind == "CHK":
        codes = ["Z00.0", *lasting[:1]]
    elif visit.kind == "FUP" and lasting:
        codes = lasting[: random.choice((1, 1, 2))]
    else:
        codes = [_complaint(random, visit.started_at.month)]
        if lasting and random.random() < 0.3:
            codes.append(lasting[0])
    return codes


def _clinical(random: Random, visits: Sequence[Visit]) -> dict[str, list[tuple[object, ...]]]:
    """Make up the diagnoses, prescriptions and lab results of the visits."""
    today = EXPORTED_AT.date()
    diagnoses: list[tuple[object, ...]] = []
    prescriptions: list[tuple[object, ...]] = []
    results: list[tuple[object, ...]] = []
    for visit in visits:
        day = visit.started_at.date()
        codes = _codes_of(random, visit)
        for place, code in enumerate(codes):
            text, lasting, _ = DIAGNOSES[code]
            diagnoses.append((len(diagnoses) + 1, visit.visit_id, code, text, "P" if place == 0 else "S", int(lasting)))
            chance, drugs = TREATMENTS.get(code, (0.0, ()))
            if visit.practitioner.role in ("GP", "SP", "NP") and drugs and random.random() < chance:
                drug = random.choice(drugs)
                kind, controlled, supplies = DRUGS[drug]
                supply = random.choice(supplies)
                stopped: date | None = None
                if random.random() < 0.06:
                    stopped = day + timedelta(days=random.randrange(1, supply))
                    stopped = stopped if stopped <= today else None
                refills = random.choice((0, 1, 2, 3)) if lasting and not controlled else 0
                prescriptions.append(
                    (
                        len(prescriptions) + 1, visit.visit_id, drug, kind, int(controlled), day, supply,
                        refills, stopped,
                    )
                )  # fmt: skip
            for test in USUAL_TESTS.get(code, ()):
                if random.random() > 0.55:
                    continue
                unit, mean, spread, low, high, critical = TESTS[test]
                ill = {"HBA1C": "E11.9", "LDL": "E78.0", "TSH": "E03.9"}.get(test) in visit.patient.illnesses
                value = round(max(low * 0.6 + 0.1, random.gauss(mean + (0.9 * spread if ill else 0), spread)), 1)
                reported: date | None = day + timedelta(days=random.choice((0, 1, 1, 2, 2, 3, 5)))
                # A few samples never came back from the laboratory.
                if reported is not None and (reported > today or random.random() < 0.02):
                    reported = None
                flag = "C" if value >= critical else "H" if value > high else "L" if value < low else "N"
                pending = reported is None
                results.append(
                    (
                        len(results) + 1, visit.visit_id, test, day, reported, None if pending else value,
                        unit, None if pending else flag,
                    )
                )  # fmt: skip
    return {"diagnoses": diagnoses, "prescriptions": prescriptions, "lab_results": results}


def _bills(  # noqa: C901 - a decision for each kind of bill
    random: Random, visits: Sequence[Visit], tests: dict[int, int]
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Make up the invoices of the visits and the payments for them.

    An insurer pays its part first and the patient the rest.
    """
    today = EXPORTED_AT.date()
    invoices: list[tuple[object, ...]] = []
    payments: list[tuple[object, ...]] = []
    for visit in visits:
        coverage = visit.patient.coverage
        issued = visit.started_at.date() + timedelta(days=random.choice((0, 0, 0, 1, 2, 4)))
        free = visit.kind == "VAC" and coverage == "PUB"
        if visit.ended_at is None or issued > today or free or random.random() < 0.03:
            continue
        fee = FEES[visit.kind] * (1.4 if visit.practitioner.role == "SP" else 1.0) * (1 + 0.04 * (issued.year - 2023))
        amount = round(fee + 22 * tests.get(visit.visit_id, 0) + random.choice((0, 0, 0, 7.5, 12)), 1)
        number = len(invoices) + 1
        paid = 0.0
        last: date | None = None
        void = random.random() < 0.02
        parts: list[tuple[float, int, str]] = []
        if not void:
            if coverage is not None:
                share = round(amount * {"PUB": 0.8, "PRV": 0.9, "EMP": 1.0}[coverage], 1)
                if random.random() > 0.03:
                    parts.append((share, random.randrange(9, 50), "INS"))
            else:
                share = 0.0
            if amount - share > 0.05 and random.random() > (0.09 if coverage is not None else 0.17):
                own = random.choices(("CRD", "CSH", "TRF"), (60, 15, 25))[0]
                wait = 0 if own == "CSH" else int(random.expovariate(1 / 22))
                parts.append((round(amount - share, 1), wait, own))
        for part, wait, method in sorted(parts, key=lambda one: one[1]):
            received = issued + timedelta(days=wait)
            if received > today:
                continue
            payments.append((0, number, received, part, method))
            paid += part
            last = received
        if void:
            status = "VD"
        elif amount - paid < 0.05:
            status = "PD"
        elif issued < date(2024, 4, 1) and random.random() < 0.6:
            status = "WO"
        else:
            status = "PRT" if paid > 0 else "OPN"
        invoices.append(
            (
                number, visit.visit_id, issued, issued + timedelta(days=30), amount, status,
                last if status == "PD" else None,
            )
        )  # fmt: skip
    payments.sort(key=lambda row: (str(row[2]), row[1]))
    return invoices, [
        (place, invoice, received, part, method)
        for place, (_, invoice, received, part, method) in enumerate(payments, start=1)
    ]


def _tables(random: Random) -> dict[str, list[tuple[object, ...]]]:
    """Make up the rows of every table, in an order that keeps the foreign keys."""
    practitioners = _practitioners()
    patients = _patients(random, practitioners)
    appointments, kept = _appointments(random, patients, practitioners)
    came = sorted(
        kept + _walk_ins(random, patients, practitioners), key=lambda one: (one.started_at, one.patient.patient_id)
    )
    visits = [visit._replace(visit_id=number) for number, visit in enumerate(came, start=1)]
    clinical = _clinical(random, visits)
    tests: dict[int, int] = {}
    for row in clinical["lab_results"]:
        if isinstance(row[1], int):
            tests[row[1]] = tests.get(row[1], 0) + 1
    invoices, payments = _bills(random, visits, tests)
    patient_rows: list[tuple[object, ...]] = []
    for one in patients:
        town = SITES[one.site_id - 1].town if random.random() < 0.7 else random.choice(TOWNS)
        handle = one.name.lower().replace(" ", ".")
        patient_rows.append(
            (
                one.patient_id, one.name, one.sex, one.born_on, town,
                f"555 {random.randrange(10000):04d}" if random.random() < 0.93 else None,
                f"{handle}{one.patient_id}@mail.example" if random.random() < 0.71 else None,
                one.site_id, one.practitioner_id, one.coverage, one.registered_on, one.status,
                one.closed_on,
            )
        )  # fmt: skip
    return {
        "sites": [
            (one.site_id, one.name, one.town, one.rooms, one.opened_on, one.closed_on,
             "O" if one.closed_on is None else "C")
            for one in SITES
        ],
        "practitioners": [
            (one.practitioner_id, one.name, one.role, one.specialty, one.site_id, one.hired_on,
             one.left_on, one.status)
            for one in practitioners
        ],
        "patients": patient_rows,
        "appointments": appointments,
        "visits": [
            (one.visit_id, one.appointment_id, one.patient.patient_id, one.practitioner.practitioner_id, one.site_id,
             _minute(one.started_at), _minute(one.ended_at), one.urgency, one.outcome)
            for one in visits
        ],
        **clinical,
        "invoices": invoices,
        "payments": payments,
        "code_list": list(CODE_LIST),
    }  # fmt: skip


def create_clinic(path: Path) -> None:
    """Create the clinic's database at the path, replacing a file that is there."""
    create(path, SCHEMA, _tables(Random(SEED)))
