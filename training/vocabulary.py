"""Words for synthetic rows, by patterns of column names."""

FIRST_NAMES = tuple(
    """
    Aaron Adele Ahmed Aiko Alice Amara Amir Ana Andrés Anna Anton Beatriz Ben Camille Carlos Carmen Chloé Clara Daniel
    David Diego Elena Elias Emily Emma Erik Eva Fatima Felix Gabriel Grace Hannah Haruto Hugo Ines Isabel Ivan Jack
    James Jan José Julia Kaito Karin Katarina Kenji Laura Lars Leila Leo Lina Lucas Lucía Maria Marco Marta Mateo Maya
    Mei Michael Mila Nadia Nina Noah Nora Oliver Olivia Omar Oscar Paula Pedro Priya Rafael Rosa Ruth Samuel Sara Sofia
    Stefan Tara Thomas Tomás Victor Yuki Yusuf Zoe
    """.split()
)

LAST_NAMES = tuple(
    """
    Adams Alvarez Andersen Baker Becker Bennett Berg Bianchi Brown Campbell Carter Castro Chen Clark Costa Dahl Davies
    Diaz Dubois Evans Fernandes Fischer Fontaine García Gomez Gupta Hall Hansen Harris Hayashi Hoffmann Hughes Ito
    Jansen Johansson Kaya Kelly Khan Kim Klein Kowalski Lambert Larsen Lee Lindgren López Martin Mendes Meyer Miller
    Mitchell Moore Moreau Morgan Nakamura Nguyen Nielsen Novak Okafor Olsen Patel Pereira Perez Ramos Reyes Ricci Rivera
    Rossi Sato Schmidt Silva Singh Smith Suzuki Tan Taylor Torres Turner Virtanen Wagner Walker Wang Weber White Wright
    Young
    """.split()
)

CITIES = tuple(
    """Berlin|Paris|London|Madrid|Rome|Vienna|Oslo|Lisbon|Dublin|Prague|Toronto|Boston|Chicago|Denver|Austin|Seattle|
    Miami|Sydney|Tokyo|Osaka|Seoul|Delhi|Lima|Bogota|Cairo|Nairobi|Moscow|Kazan|Shanghai|Beijing|Istanbul|Athens|
    New York|San Diego|Cape Town|Hong Kong|Los Angeles|Saint Petersburg|Mexico City|Buenos Aires""".replace(
        "\n    ", ""
    ).split("|")
)
COUNTRIES = tuple(
    """Germany|France|United Kingdom|Spain|Italy|Austria|Norway|Portugal|Ireland|Poland|Canada|United States|Mexico|
    Brazil|Chile|Australia|Japan|South Korea|India|Peru|Egypt|Kenya|Russia|China|Turkey|Greece""".replace(
        "\n    ", ""
    ).split("|")
)
STATES = ("California", "Texas", "Florida", "New York", "Ohio", "Oregon", "Georgia", "Bavaria", "Victoria", "Utah")
NATIONALITIES = (
    "German",
    "French",
    "British",
    "Spanish",
    "Italian",
    "American",
    "Canadian",
    "Japanese",
    "Chinese",
    "Russian",
)
COLOURS = ("red", "blue", "green", "black", "white", "grey", "yellow", "brown")
LANGUAGES = ("English", "German", "French", "Spanish", "Russian", "Chinese", "Japanese", "Arabic")
COMPANIES = tuple(
    f"{first} {last}"
    for first in ("Northwind", "Alpine", "Harbor", "Summit", "Blue River", "Granite", "Silver Oak", "Pioneer")
    for last in ("Logistics", "Foods", "Partners", "Systems", "Media", "Energy")
)
_NOUNS = (
    "Lantern Compass Anchor Falcon Meadow Harbor Canyon Ember Willow Comet Orchid Breeze Summit Cedar Marble".split()
)
_ADJECTIVES = "Silent Golden Northern Hidden Bright Crystal Wild Early Distant Royal Quiet Blue Second Modern".split()
TITLES = tuple(f"{adjective} {noun}" for noun in _NOUNS for adjective in _ADJECTIVES)
PRODUCTS = tuple(
    f"{adjective} {noun}"
    for noun in ("Chair", "Lamp", "Desk", "Kettle", "Backpack", "Keyboard", "Mug", "Jacket", "Bicycle", "Headphones")
    for adjective in ("Classic", "Compact", "Deluxe", "Folding", "Wireless", "Oak", "Steel", "Urban")
)
CATEGORIES = ("Standard", "Premium", "Basic", "Regular", "Special", "General", "Advanced", "Mixed")
STATUSES = ("active", "closed", "pending", "cancelled", "completed", "open")
PEOPLE = tuple(f"{first} {last}" for first in FIRST_NAMES[::3] for last in LAST_NAMES[::4])
DESCRIPTIONS = tuple(f"{title.lower()} notes" for title in TITLES[:60])

BY_NAME: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    (r"(first|given|f).?name$|^(first|given)$|nickname", FIRST_NAMES, True),
    (r"(last|family|l|sur).?name$|^(last|surname)$", LAST_NAMES, True),
    (r"nationality", NATIONALITIES, False),
    (r"city|town|birth.?place|venue|location|destination|origin|headquarter|^place$|hometown", CITIES, False),
    (r"countr|nation", COUNTRIES, False),
    (r"state|province|county|region|district", STATES, False),
    (r"colou?r", COLOURS, False),
    (r"language", LANGUAGES, False),
    (r"gender|sex\b|^sex", ("F", "M"), False),
    (r"status|result|outcome", STATUSES, False),
    (r"yn$|_flag$|^is_", ("Y", "N"), False),
    (r"type|class|category|level|grade|kind|method|genre|theme|party|segment|size|position|rank|semester",
     CATEGORIES, False),
    (r"company|manufacturer|publisher|brand|organi|agency|bank|airline|school|college|university|club|team",
     COMPANIES, True),
    (r"product|item|model|equipment|part_?name", PRODUCTS, True),
    (r"(customer|client|person|people|employee|staff|student|teacher|author|artist|player|member|guest|driver|owner|"
     r"manager|director|physician|doctor|patient|actor|user|singer|candidate|head|president|contact).*name|"
     r"^(manager|director|owner|driver|singer|artist|author|governor|pilot|president)", PEOPLE, True),
    (r"detail|description|note|comment|summary|text|bio", DESCRIPTIONS, True),
    (r"name$|title$", TITLES, True),
)  # fmt: skip
"""Patterns of column names with their words, and whether most rows have a distinct one."""

PEOPLE_TABLES = (
    r"people|person|customer|client|employee|staff|student|teacher|author|artist|player|member|guest|driver|owner|"
    r"manager|director|physician|doctor|patient|actor|user|singer|candidate|instructor|participant|friend|scientist|"
    r"lecturer|professor|reviewer|donor|tenant|agent|wrestler|pilot|trainer|visitor"
)
