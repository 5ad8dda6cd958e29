"""The lists of harmless functions in `agent/sql/allowed/`, made from the catalogs of the engines.

    python -m tests.function_lists [DIALECT ...]

writes the lists of SQLite, PostgreSQL, MariaDB, DuckDB and ClickHouse, each where its engine or package is at hand.
Those of Spark and Trino, and `nodes.txt`, are kept by hand: there is no engine to ask on a machine without one.
"""

import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "agent/sql/allowed"
POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")
MYSQL_URL = os.environ.get("TEST_MYSQL_URL", "mysql+pymysql://root@127.0.0.1:3306/test")

SYNTAX = {
    "sqlite": """cast coalesce generate_series iif json_each json_tree string_agg concat concat_ws octet_length
        json_pretty jsonb jsonb_extract timediff unistr if median percentile percentile_cont percentile_disc
        group_concat row_number exists ->""",
    "postgres": """coalesce nullif greatest least extract cast overlay position substring trim xmlelement xmlforest
        xmlagg xmlconcat xmlexists xmltable grouping array row any all some exists rows cube rollup json_table
        json_value
        json_query json_exists json_scalar json_serialize json_arrayagg json_objectagg json_array json_object unnest
        current_date current_time current_timestamp localtime localtimestamp clock_timestamp timeofday random
        random_normal gen_random_uuid any_value array_shuffle array_sample array_agg date_add date_subtract erf erfc
        gamma lgamma trim_array interval now transaction_timestamp to_bin to_oct uuidv7 casefold crc32 crc32c
        array_sort array_reverse levenshtein similarity word_similarity unaccent crosstab date_part""",
    "mysql": """cast if ifnull nullif nvl nvl2 date day dayname dayofmonth dayofweek dayofyear hour minute second
        month year quarter time timestamp week weekday ascii char charset left right insert repeat replace truncate
        mod
        interval row greatest least coalesce values current_date current_time current_timestamp localtime
        localtimestamp
        utc_date utc_time utc_timestamp sysdate sounds like regexp match against avg group_concat std json_table
        timestampadd timestampdiff rlike any_value json_storage_size member row_number bit_count grouping regexp_like
        to_char to_date trunc to_number months_between format_bytes json_arrayagg json_objectagg lag lead first_value
        last_value convert any all some exists trim position concat median percentile_cont percentile_disc date_add
        date_sub str_to_date st_distance st_x st_y st_astext st_geomfromtext st_contains st_within point
        st_distance_sphere substring extract uuid_v4 uuid_v7 json_valid json_overlaps get_format""",
    "duckdb": """cast try_cast coalesce nullif greatest least extract ifnull unnest any all some exists row grouping
        grouping_id cube rollup rank dense_rank row_number ntile lag lead first_value last_value nth_value
        percent_rank
        cume_dist percentile_cont percentile_disc position trim substring overlay array list map struct_pack
        columns try
        map_from_entries date timestamp interval current_date current_time current_timestamp localtime localtimestamp
        st_distance st_point st_x st_y transaction_timestamp get_current_time get_current_timestamp list_value arg_max
        fill apply iff nvl isnull is_nan varchar text integer bigint double decimal boolean""",
    "clickhouse": """cast extract substring trim position interval exists any all date_add date_sub date_diff grouping
        row_number rank dense_rank lag lead first_value last_value nth_value array tuple map if cube rollup sum
        count avg
        numbers values generate_series generateseries date timestamp time columns apply date_trunc""",
}
"""What has the form of a call and is in no catalog: syntax, and harmless functions of other versions and extensions."""

FORBIDDEN = {
    "sqlite": r"""changes|last_insert_rowid|total_changes|load_extension|fts\w*|rtree\w*|sqlite_\w+|zeroblob
        |randomblob
        |match|matchinfo|offsets|optimize|snippet|highlight|bm25|subtype|readfile|writefile|edit|-.*|likely
        |unlikely|likelihood""",
    "postgres": r"""pg_\w+|lo_\w+|has_\w+|txid_\w+|inet_(client|server)\w+|current_\w+|session_\w+|binary_upgrade\w*
        |ts_stat|ts_rewrite|ts_debug|query_to\w+|cursor_to\w+|table_to\w+|schema_to\w+|database_to\w+
        |row_security_active
        |\w+(_send|send|_recv|_in|_out|_accum\w*|_combine|_transfn|_support|extended)|array_fill|set_config|setseed
        |version|icu_unicode_version|unicode_version|system_user|getdatabaseencoding|getpgusername|querytree
        |oidvector\w*|hash(oid|array|range|record)\w*|\w+_(larger|smaller|cmp|hash)|bt\w+cmp|gin_\w+|spg_\w+
        |like_escape
        |similar_escape|to_reg\w+|obj_description|col_description""",
    "mysql": r"""benchmark|sleep|\w+_lock\w*|get_lock|release_\w+|load_file|master_\w+|binlog_\w+|wsrep_\w+
        |connection_id
        |database|schema|schemas|session_user|system_user|user|current_user|current_role|version|last_insert_id
        |row_count
        |found_rows|uuid_short|random_bytes|aes_\w+|des_\w+|encode|decode|encrypt|password|old_password
        |decode_histogram
        |name_const|updatexml|extractvalue|sys_guid|nextval|lastval|setval|\w+_oracle|compress|uncompress""",
    "duckdb": r"""pg_\w+|has_\w+|inet_\w+|txid_\w+|duckdb_\w+|__\w+|icu_\w+|collate_\w+|current_(?!date|local)\w+
        |session_user|user|version|getvariable|nextval|currval|setval|setseed|write_log|sleep_ms|stats|vector_type
        |query
        |query_table|read_\w+|which_secret|obj_description|col_description|shobj_description|in_search_path|index_key
        |get_block_size|invoke|finalize|combine|combine_aggr|to_aggregate_state|array_resize|list_resize
        |parse_duckdb\w+
        |json_execute\w+|json_serialize\w+|json_deserialize\w+|json_copy\w+|remap_struct|vertex_extract|map_to_pg_oid
        |format_pg_type|variant_comparator|variant_bytes\w+|hive_partition\w+|create_sort_key|\w+_byte_comparable
        |apply
        |cast_to_type|can_cast_implicitly|constant_or_null|checkpoint|force_checkpoint|error|assert_true|make_type""",
    "clickhouse": r"""sleep\w*|dict\w*|file\w*|url\(|get(Setting|Macro|ServerPort|ServerSetting|ClientHTTPHeader
        |OSKernel|Max\w+|MergeTree\w+)\w*
        |current\w*(User|Database|Schemas|Profiles|Roles|QueryID)\w*|current_(user|database|schemas|query_id
        |profiles|roles)
        |hostName|hostname|fqdn|fullHostName|tcpPort|uptime|version|revision|server\w*|shard\w*|tid|throwIf|user
        |session_user
        |initial\w*|database|authenticatedUser|authUser|chdb|currentHandler|currentRequestURL|globalVariable
        |fuzzQuery|flameGraph
        |errorCodeToName|estimateCompressionRatio|aggThrow|getTypeSerializationStreams|default(Profiles|Roles)
        |highlight|indexHint
        |initialQuery\w*|connection\w*|queryID|query_id|query_string|transaction\w+|joinGet\w*|catboost\w*|model\w*
        |demangle|addressTo\w+|buildId|build_id|filesystem\w+|mergeTree\w+|partition\w+ID|partitionId|block\w+
        |isMergeTree\w+
        |pg\w+GetUser\w*|pg_\w+|pgTable\w+|pgGet\w+|showCertificate|displayName|enabled\w+|enabled_\w+
        |default\w+Roles|default_roles
        |generateUUID\w*\(|generateRandom\w*|region\w+|evalMLMethod|naiveBayes\w*|structureTo\w+|parseQuery\w*
        |normalizeQuery\w*
        |normalizedQuery\w*|obfuscateQuery\w*|formatQuery\w*|highlightQuery|tokenizeQuery|ai\w+|AI\w+|llm\w*|aes\w*
        |encrypt|decrypt
        |tryDecrypt|has(Column|Thread)\w*|getSubcolumn|lowCardinality\w+|runningConcurrency|nested|nothing\w*|__\w+
        |_\w+
        |arrayWithConstant|randomString\w*|randomFixedString|randomPrintable\w+|fuzzBits|identity|ignore
        |materialize|cloudResource\w*
        |finalizeAggregation|initializeAggregation|zookeeper\w*|getZooKeeper\w*|hasColumnInTable|dump\w*|logTrace
        |trap|wkt\(""",
}
"""What a query has no need of: side effects, files, network, waiting, locks, configuration, the session."""

POSTGRES_QUERY = """
WITH functions AS (
  SELECT proname, provolatile, prokind,
    (SELECT array_agg(t::regtype::text)
     FROM unnest(array_append(coalesce(proallargtypes, proargtypes::oid[]), prorettype)) AS t) AS types
  FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace)
SELECT DISTINCT proname FROM functions
WHERE provolatile IN ('i', 's') AND prokind IN ('f', 'a', 'w') AND NOT EXISTS (
  SELECT 1 FROM unnest(types) AS t WHERE t ~ '^(oid|reg.*|xid8?|cid|tid|pg_.*|txid_snapshot|aclitem|refcursor
        |internal'
    '|cstring|trigger|event_trigger|.*_handler|void|name)(\\[\\])?$')
"""


def sqlite() -> Iterable[str]:
    """SQLite's own list of functions."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return [name for (name,) in connection.execute("SELECT DISTINCT name FROM pragma_function_list")]


def postgres() -> Iterable[str]:
    """PostgreSQL's functions that are immutable or stable and take and give values only."""
    return _column(POSTGRES_URL, POSTGRES_QUERY)


def mysql() -> Iterable[str]:
    """MariaDB's functions by its information schema; those that its grammar spells out are in SYNTAX."""
    return _column(MYSQL_URL, "SELECT `FUNCTION` FROM information_schema.SQL_FUNCTIONS")


def duckdb() -> Iterable[str]:
    """DuckDB's scalar and aggregate functions and macros."""
    import duckdb as engine

    kinds = "'scalar', 'aggregate', 'macro'"
    query = f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ({kinds})"
    with engine.connect() as connection:
        return [name for (name,) in connection.execute(query).fetchall()]


def clickhouse() -> Iterable[str]:
    """ClickHouse's functions."""
    import chdb

    return str(chdb.query("SELECT name FROM system.functions", "TSV")).splitlines()


SOURCES: dict[str, Callable[[], Iterable[str]]] = {
    "sqlite": sqlite,
    "postgres": postgres,
    "mysql": mysql,
    "duckdb": duckdb,
    "clickhouse": clickhouse,
}


def harmless(dialect: str, names: Iterable[str]) -> list[str]:
    """Return the functions among `names` that a query may call, with the syntax of the dialect, in lower case."""
    forbidden = re.compile(re.sub(r"\s+", "", FORBIDDEN[dialect]), re.IGNORECASE)
    kept = {name.lower() for name in names if not forbidden.fullmatch(name) and re.fullmatch(r"\w+", name)}
    return sorted(kept | {name for name in SYNTAX[dialect].split() if name.isidentifier()})


def write(dialect: str) -> None:
    """Write the list of `dialect` from its engine."""
    names = harmless(dialect, SOURCES[dialect]())
    (FOLDER / f"{dialect}.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


def _column(url: str, query: str) -> list[str]:
    from sqlalchemy import create_engine

    engine = create_engine(url)
    with engine.connect() as connection:
        names = [name for (name,) in connection.exec_driver_sql(query)]
    engine.dispose()
    return names


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SOURCES:
        try:
            write(wanted)
        except ImportError as error:
            print(f"{wanted}: skipped, {error}")
