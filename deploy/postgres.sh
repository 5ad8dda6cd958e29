#!/bin/sh
# Run once by the image of PostgreSQL, on an empty volume: an account that keeps threads and record in a database of its
# own, and one that may only read the shop, which stands for your data.
set -eu

psql --set=ON_ERROR_STOP=1 --set=keeper="$DATASPHINX_DB_PASSWORD" --set=reader="$READER_PASSWORD" \
    --no-psqlrc --quiet --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
CREATE ROLE datasphinx LOGIN PASSWORD :'keeper';
CREATE ROLE reader LOGIN PASSWORD :'reader';
CREATE DATABASE datasphinx OWNER datasphinx;
CREATE DATABASE shop;
REVOKE ALL ON DATABASE datasphinx, shop FROM PUBLIC;
GRANT CONNECT ON DATABASE shop TO reader;
\connect shop
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO reader;
CREATE TABLE orders (order_id integer PRIMARY KEY, status text NOT NULL, amount numeric(12, 2) NOT NULL, placed_on date NOT NULL);
INSERT INTO orders VALUES
    (1, 'delivered', 120.00, '2026-01-05'), (2, 'delivered', 80.50, '2026-01-17'), (3, 'cancelled', 45.00, '2026-02-02'),
    (4, 'shipped', 310.20, '2026-02-11'), (5, 'delivered', 19.90, '2026-03-08'), (6, 'placed', 64.75, '2026-03-21');
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
SQL
