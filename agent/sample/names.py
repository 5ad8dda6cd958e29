"""Names and places in the sample shop. Email domains are reserved ones, so no address is real."""

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

COMPANY_ENDINGS = (
    "Trading",
    "Interiors",
    "Studio",
    "Consulting",
    "Logistics",
    "Partners",
    "Foods",
    "Design",
    "Hotels",
    "Engineering",
    "Clinic",
    "Media",
)

REGIONS = ("North America", "Latin America", "Western Europe", "Northern Europe", "Asia Pacific")

PLACES = """
North America | United States | +1 | 26 | New York, Chicago, Austin, Seattle, Denver
North America | Canada | +1 | 9 | Toronto, Vancouver, Montreal
Latin America | Brazil | +55 | 8 | Recife, Curitiba, Salvador
Latin America | Mexico | +52 | 6 | Monterrey, Guadalajara
Latin America | Chile | +56 | 3 | Santiago, Valparaiso
Western Europe | Germany | +49 | 11 | Berlin, Hamburg, Munich
Western Europe | France | +33 | 8 | Paris, Lyon, Nantes
Western Europe | United Kingdom | +44 | 9 | London, Manchester, Leeds
Western Europe | Spain | +34 | 4 | Madrid, Valencia
Northern Europe | Sweden | +46 | 4 | Stockholm, Uppsala
Northern Europe | Denmark | +45 | 3 | Copenhagen, Aarhus
Northern Europe | Finland | +358 | 2 | Helsinki, Turku
Asia Pacific | Japan | +81 | 6 | Tokyo, Osaka
Asia Pacific | Australia | +61 | 5 | Sydney, Melbourne, Perth
Asia Pacific | Singapore | +65 | 2 | Singapore
"""

RETURN_REASONS = ("Changed mind", "Damaged in transit", "Defective", "Not as described", "Wrong item", None)

CATEGORIES = """
Electronics | Audio | 0.07
Electronics | Computer Accessories | 0.05
Electronics | Smart Home | 0.08
Furniture | Chairs | 0.06
Furniture | Desks and Tables | 0.03
Furniture | Storage | 0.03
Kitchen | Cookware | 0.02
Kitchen | Coffee and Tea | 0.03
Kitchen | Tableware | 0.04
Outdoor | Camping | 0.05
Outdoor | Garden | 0.03
Office Supplies | Paper and Notebooks | 0.01
Office Supplies | Writing | 0.01
Gift Cards | |
"""

PRODUCTS = """
Audio | Wireless Headphones | 129.00
Audio | Noise-Cancelling Headphones | 249.00
Audio | Sports Earbuds | 79.80
Audio | Bluetooth Speaker | 59.80
Audio | Bookshelf Speakers | 189.00
Audio | USB Microphone | 89.00
Audio | Vinyl Record Player | 219.00
Computer Accessories | Mechanical Keyboard | 99.00
Computer Accessories | Compact Keyboard | 49.80
Computer Accessories | Ergonomic Mouse | 39.80
Computer Accessories | USB-C Hub | 34.80
Computer Accessories | Laptop Stand | 44.80
Computer Accessories | 27-inch Monitor | 289.00
Computer Accessories | HD Webcam | 64.80
Computer Accessories | Portable SSD 1 TB | 109.00
Computer Accessories | Laptop Sleeve | 24.80
Smart Home | Smart Plug | 14.80
Smart Home | Smart Bulb | 17.80
Smart Home | Video Doorbell | 119.00
Smart Home | Smart Thermostat | 149.00
Smart Home | Motion Sensor | 22.80
Smart Home | Robot Vacuum | 329.00
Chairs | Ergonomic Office Chair | 279.00
Chairs | Mesh Task Chair | 159.00
Chairs | Oak Dining Chair | 119.00
Chairs | Lounge Armchair | 349.00
Chairs | Bar Stool | 79.00
Chairs | Kneeling Chair | 139.00
Desks and Tables | Standing Desk | 449.00
Desks and Tables | Writing Desk | 229.00
Desks and Tables | Oak Dining Table | 599.00
Desks and Tables | Coffee Table | 149.00
Desks and Tables | Side Table | 69.00
Desks and Tables | Folding Table | 54.80
Storage | Five-Shelf Bookcase | 129.00
Storage | Filing Cabinet | 169.00
Storage | Shoe Rack | 39.80
Storage | Storage Box Set | 29.80
Storage | Wall Shelf | 34.80
Storage | Wardrobe | 389.00
Cookware | Cast Iron Skillet | 39.80
Cookware | Stainless Steel Saucepan | 44.80
Cookware | Non-Stick Frying Pan | 34.80
Cookware | Dutch Oven | 94.80
Cookware | Baking Tray Set | 24.80
Cookware | Chef Knife | 59.80
Cookware | Bamboo Cutting Board | 19.80
Cookware | Pressure Cooker | 109.00
Coffee and Tea | Espresso Machine | 399.00
Coffee and Tea | Pour-Over Coffee Maker | 32.80
Coffee and Tea | French Press | 27.80
Coffee and Tea | Burr Coffee Grinder | 84.80
Coffee and Tea | Electric Kettle | 49.80
Coffee and Tea | Glass Teapot | 29.80
Coffee and Tea | Travel Mug | 18.80
Coffee and Tea | Milk Frother | 22.80
Tableware | Dinner Plate Set | 54.80
Tableware | Stoneware Bowl Set | 36.80
Tableware | Wine Glass Set | 32.80
Tableware | Cutlery Set | 69.80
Tableware | Linen Tablecloth | 42.80
Tableware | Espresso Cup Set | 21.80
Camping | Two-Person Tent | 179.00
Camping | Family Tent | 349.00
Camping | Sleeping Bag | 89.00
Camping | Camping Stove | 49.80
Camping | LED Headlamp | 26.80
Camping | Hiking Backpack | 119.00
Camping | Insulated Water Bottle | 24.80
Camping | Folding Camp Chair | 39.80
Garden | Garden Hose 20 m | 34.80
Garden | Pruning Shears | 22.80
Garden | Raised Garden Bed | 89.00
Garden | Solar Path Lights | 29.80
Garden | Charcoal Grill | 199.00
Garden | Terracotta Pot Set | 27.80
Garden | Patio Umbrella | 109.00
Paper and Notebooks | Hardcover Notebook | 12.80
Paper and Notebooks | Dotted Journal | 16.80
Paper and Notebooks | Copy Paper 500 Sheets | 6.80
Paper and Notebooks | Sticky Notes | 4.80
Paper and Notebooks | Weekly Planner | 18.80
Paper and Notebooks | Sketchbook | 14.80
Paper and Notebooks | Desk Calendar | 9.80
Writing | Gel Pen Set | 8.80
Writing | Fountain Pen | 38.80
Writing | Mechanical Pencil | 7.80
Writing | Highlighter Set | 6.80
Writing | Whiteboard Marker Set | 9.80
Writing | Calligraphy Set | 27.80
"""


def table(text: str) -> list[list[str]]:
    """Return the trimmed cells of each line of one of the tables above."""
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
