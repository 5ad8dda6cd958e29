"""Columns whose values look personal, by their values or their names."""

import pytest

from datasphinx.agent.schema.personal import personal_kind


@pytest.mark.parametrize(
    "kind, values",
    [
        ("e-mail addresses", ("ann@example.org", "Bob.B@mail.example.com")),
        ("URLs", ("https://example.org/a?b=1", "www.example.org/x")),
        ("UUIDs", ("8c6f1a52-3b64-4d0e-9c55-2c1b1c7f0e11", "{8C6F1A52-3B64-4D0E-9C55-2C1B1C7F0E11}")),
        ("IP addresses", ("10.0.0.1", "192.168.1.0/24", "fe80:0:0:0:1ff:fe23:4567:890a")),
        ("hashes", ("d41d8cd98f00b204e9800998ecf8427e", "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9")),
        ("phone numbers", ("+44 20 7946 0958", "(415) 555-0101", "415-555-0101 x12", "1-415-555-0101")),
        ("postal addresses", ("12 Main Street, Springfield", "9 Elm Ave. Apt. 3", "Hauptstr. 5", "ул. Ленина, 4")),
    ],
)
def test_values_of_a_pattern(kind: str, values: tuple[str, ...]) -> None:
    assert personal_kind("t", "x", values) == kind


@pytest.mark.parametrize(
    "table, column, values, kind",
    [
        ("t", "phone", ("555 12 34", "5551234"), "phone numbers"),
        ("t", "homeAddress", ("Rose Cottage, Little Hampton",), "postal addresses"),
        ("t", "first_name", ("Ann", "Bob"), "names of persons"),
        ("t", "Фамилия", ("Иванов",), "names of persons"),
        ("customers", "name", ("Ann Lee",), "names of persons"),
        ("Employees", "FullName", ("Ann Lee",), "names of persons"),
        ("t", "author_name", ("Ann Lee",), "names of persons"),
        ("t", "owner", ("Ann Lee", "J. M. DeMatteis"), "names of persons"),
        ("t", "doctor", ("Prof. Dr. med. Ann Lee", "Lee, Ann (Dr.)", "Dr. Ann van der Lee, MBA"), "names of persons"),
    ],
)
def test_a_column_of_a_name(table: str, column: str, values: tuple[str, ...], kind: str) -> None:
    assert personal_kind(table, column, values) == kind


@pytest.mark.parametrize(
    "table, column, values",
    [
        ("products", "name", ("Desk", "Chair")),
        ("car_makers", "FullName", ("American Motor Company",)),
        ("t", "email_status", ("verified", "bounced")),
        ("t", "email", ("yes", "no")),
        ("t", "phone", ("mobile", "home")),
        ("t", "address", ("billing", "shipping")),
        ("t", "owner", ("public", "private")),
        ("t", "season", ("2019-2020", "2020-2021")),
        ("t", "day", ("2020-01-02", "2021-03-04")),
        ("t", "code", ("1234567890123456", "1234567890123457")),
        ("t", "city", ("New York", "San Jose")),
        ("t", "price", ("415.55", "16:9")),
        ("t", "x", ()),
        ("t", "x", ("", " ")),
        ("t", "_", ("a",)),
    ],
)
def test_a_column_that_is_not_personal(table: str, column: str, values: tuple[str, ...]) -> None:
    assert personal_kind(table, column, values) == ""


def test_a_few_other_values_do_not_matter() -> None:
    values = tuple(f"user{number}@example.org" for number in range(9))
    assert personal_kind("t", "x", (*values, "none")) == "e-mail addresses"
    assert personal_kind("t", "x", (*values[:3], "none", "unknown")) == ""
