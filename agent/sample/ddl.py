"""Tables of the sample shop, in the order in which their rows can be written.

The comments inside the statements are part of the sample: SQLite keeps them, so whoever reads the schema sees them.
"""

TABLES = {
    "regions": """
CREATE TABLE regions (
    region_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
)""",
    "employees": """
CREATE TABLE employees (
    employee_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    job_title TEXT NOT NULL,
    manager_id INTEGER REFERENCES employees (employee_id),
    region_id INTEGER REFERENCES regions (region_id), -- NULL: works at head office
    hired_on DATE NOT NULL,
    salary INTEGER NOT NULL -- US dollars a year
)""",
    "customers": """
CREATE TABLE customers (
    customer_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    phone TEXT,
    city TEXT NOT NULL,
    country TEXT NOT NULL,
    region_id INTEGER NOT NULL REFERENCES regions (region_id),
    segment TEXT NOT NULL CHECK (segment IN ('Consumer', 'Small Business', 'Enterprise')),
    signed_up_on DATE NOT NULL
)""",
    "categories": """
CREATE TABLE categories (
    category_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    parent_id INTEGER REFERENCES categories (category_id) -- NULL: a top-level category
)""",
    "products": """
CREATE TABLE products (
    product_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    category_id INTEGER NOT NULL REFERENCES categories (category_id),
    price REAL NOT NULL, -- today's list price, US dollars
    cost REAL NOT NULL, -- what the shop pays for one
    discontinued INTEGER NOT NULL CHECK (discontinued IN (0, 1)) -- 1: no longer sold
)""",
    "channels": """
CREATE TABLE channels (
    code TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
)""",
    "orders": """
CREATE TABLE orders (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
    employee_id INTEGER REFERENCES employees (employee_id), -- NULL: web order, nobody sold it
    ordered_on DATE NOT NULL,
    shipped_on DATE, -- NULL: not shipped
    status TEXT NOT NULL CHECK (status IN ('delivered', 'shipped', 'pending', 'cancelled')),
    channel TEXT NOT NULL REFERENCES channels (code), -- W = web, S = store, P = phone
    total_amount REAL NOT NULL -- sum of its items, US dollars
)""",
    "order_items": """
CREATE TABLE order_items (
    order_item_id INTEGER PRIMARY KEY,
    order_id INTEGER NOT NULL REFERENCES orders (order_id),
    product_id INTEGER NOT NULL REFERENCES products (product_id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_price REAL NOT NULL, -- list price on the day of the order
    discount REAL NOT NULL, -- a fraction: 0.1 is 10 percent off
    line_total REAL NOT NULL -- quantity * unit_price * (1 - discount)
)""",
    "returns": """
CREATE TABLE returns (
    return_id INTEGER PRIMARY KEY,
    order_item_id INTEGER NOT NULL UNIQUE REFERENCES order_items (order_item_id),
    returned_on DATE NOT NULL,
    reason TEXT,
    refund_amount REAL NOT NULL
)""",
}

INDEXES = (
    "CREATE INDEX orders_by_customer ON orders (customer_id)",
    "CREATE INDEX orders_by_date ON orders (ordered_on)",
    "CREATE INDEX order_items_by_order ON order_items (order_id)",
    "CREATE INDEX order_items_by_product ON order_items (product_id)",
)
