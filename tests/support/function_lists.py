"""The lists of harmless functions in `agent/engines/allowed/`, generated from the engines' own catalogs.

    python -m tests.support.function_lists [DIALECT ...]

writes the lists of SQLite, PostgreSQL, MariaDB, DuckDB and ClickHouse, each where its engine or package is installed,
and those of Snowflake, Redshift, BigQuery, Databricks and SQL Server from `tests/documented_functions/`, which holds
the functions of their references by chapter. The lists of Spark and Trino, and `nodes.txt`, are maintained by hand.

A function is left out by its properties: side effects or session state as the engine declares them (volatility,
parallel safety, determinism, category), arguments by which it reads what its caller names (SQL text, a relation, a
file, another function), and types that look names up. A name is judged by all its overloads. `FORBIDDEN` adds functions
whose catalog entry does not tell what they do; `SYNTAX` adds names that no catalog lists, functions of other versions
and extensions, and the few volatile functions that only make values.
"""

import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.servers import MYSQL_URL, POSTGRES_URL

FOLDER = Path(__file__).resolve().parents[2] / "agent/engines/allowed"
DOCUMENTED = Path(__file__).resolve().parents[1] / "documented_functions"


class Function(NamedTuple):
    """One overload of a function as its engine describes it."""

    name: str
    is_pure: bool
    """No side effect and no state of session or server, as far as the engine declares it."""
    arguments: tuple[str, ...] = ()
    """Names of the arguments, where the engine tells them."""
    types: tuple[str, ...] = ()
    """Types of arguments and result, where the engine tells them."""


READS_BY_NAME = re.compile(
    r"(?i)(.*_)?(query|sql|relation|rel|tbl|table|schema|database|cursor|dict|dictionary|function|credentials|secret"
    r"|file|filename|host|model|parser)(_?name)?"
)
"""Arguments by which a function reads, runs or reaches something that its caller names."""

READS_PATH = re.compile(r"(?i)(.*_)?(path|url|uri)")
WORKS_ON_TEXT = re.compile(
    r"(?i)json\w*|\w*url\w*|parse_\w+|domain\w*|\w*domain\w*|netloc|path\w*|port\w*|protocol|fragment"
)
"""Functions whose argument called path or URL is text to take apart, or a path inside a JSON value."""

LOOKUP_TYPES = re.compile(
    r"(oid|reg\w+|xid8?|cid|tid|pg_\w+|txid_snapshot|aclitem|refcursor|internal|cstring|trigger|event_trigger|\w+_handler"
    r"|void|name)(\[\])?"
)
"""PostgreSQL's types that name objects of the catalog or belong to the server; no function of values has one alone."""
TEXT_SEARCH_TYPES = {"regconfig", "regdictionary"}
"""Types that name a configuration of text search, which tells nothing of the data."""
DANGEROUS_TYPES = re.compile(r"(reg\w+|refcursor|internal|trigger|event_trigger|\w+_handler)(\[\])?")
"""Types that no overload of a harmless function has: an overload that takes one is chosen by what is passed."""

SYNTAX = {
    "sqlite": """cast coalesce generate_series iif json_each json_tree string_agg concat concat_ws octet_length
        json_pretty jsonb jsonb_extract timediff unistr if median percentile percentile_cont percentile_disc
        group_concat row_number exists random current_date current_time current_timestamp""",
    "postgres": """coalesce nullif greatest least extract cast overlay position substring trim xmlelement xmlforest
        xmlagg xmlconcat xmlexists xmltable grouping array row any all some exists rows cube rollup json_table
        json_value
        json_query json_exists json_scalar json_serialize json_arrayagg json_objectagg json_array json_object unnest
        current_date current_time current_timestamp localtime localtimestamp clock_timestamp timeofday random
        random_normal gen_random_uuid any_value array_shuffle array_sample array_agg date_add date_subtract erf erfc
        gamma lgamma trim_array interval now transaction_timestamp to_bin to_oct uuidv7 casefold crc32 crc32c
        array_sort array_reverse levenshtein similarity word_similarity unaccent date_part age pg_typeof
        xmlattributes""",
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
        st_distance_sphere column_create weight_string
        substring extract uuid uuid_v4 uuid_v7 json_valid json_overlaps get_format coercibility
        collation inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_ipv4_compat is_ipv4_mapped sha""",
    "duckdb": """cast try_cast coalesce nullif greatest least extract ifnull unnest any all some exists row grouping
        grouping_id cube rollup rank dense_rank row_number ntile lag lead first_value last_value nth_value
        percent_rank
        cume_dist rank_dense percentile_cont percentile_disc position trim substring overlay array list map struct_pack
        columns try
        map_from_entries date timestamp interval current_date current_time current_timestamp localtime localtimestamp
        st_distance st_point st_x st_y transaction_timestamp get_current_time get_current_timestamp current_localtime
        current_localtimestamp list_value arg_max
        fill apply iff nvl isnull is_nan varchar text integer bigint double decimal boolean random uuid uuidv4 uuidv7
        gen_random_uuid now today ago list_aggregate list_aggr array_aggregate array_aggr aggregate if json_deep_merge
        json_insert json_merge_patch_diff json_normalize json_remove json_replace json_set json_strip_nulls lttb
        path_join decimal_average decimal_division binom st_asgeojson st_geomfromgeojson variant_array_length
        variant_contains variant_exists variant_extract_string variant_group_array variant_group_object variant_keys
        variant_type""",
    "clickhouse": """cast extract substring trim position interval exists any all date_add date_sub date_diff grouping
        row_number rank dense_rank lag lead first_value last_value nth_value array tuple map if cube rollup sum
        count avg
        numbers values generate_series generateseries date timestamp time columns apply date_trunc now now64 today
        yesterday curdate nowinblock nowinblock64 utc_timestamp utctimestamp timezone arrayjoin unnest
        rand rand32 rand64 randconstant randcanonical arrayshuffle arraypartialshuffle arrayrandomsample
        arraypartialsort arraypartialreversesort rownumberinblock rownumberinallblocks isconstant
        current_date current_timestamp localtime localtimestamp financialnetpresentvalueextended
        generateuuidv4 generateuuidv7 generatesnowflakeid datetimetouuidv7""",
    "snowflake": "any all some exists lateral rows cube rollup interval top unpivot",
    "redshift": "isnull date any all some exists rows cube rollup interval unnest row",
    "bigquery": "week any all some exists rows cube rollup interval unnest struct unpivot safe_offset offset ordinal",
    "databricks": "any all some exists rows cube rollup interval unpivot",
    "tsql": "any all some exists rows cube rollup top coalesce nullif pivot unpivot",
}
"""What has the form of a call and is in no catalog: syntax, and harmless functions of other versions and extensions."""

FORBIDDEN = {
    "sqlite": r"sqlite_\w+|zeroblob|subtype|likely|unlikely|likelihood",
    "postgres": r"""pg_\w+|has_\w+|inet_(client|server)\w+|current_\w+|database_to\w+|row_security_active|array_fill
        |\w+(_send|send|_recv|_in|_out|_accum\w*|_combine|_transfn|_support|extended)|version|querytree|oidvector\w*
        |hashoid\w*|\w+_(larger|smaller|cmp|hash)|bt\w+cmp|gin_\w+|spg_\w+|like_escape|similar_escape""",
    "mysql": r"""load_file|wsrep_\w+|schemas|random_bytes|aes_\w+|des_\w+|encode|decode|encrypt|password|old_password
        |updatexml|extractvalue|\w+_oracle|compress|uncompress""",
    "duckdb": r"""pg_\w+|has_\w+|inet_\w+|__\w+|icu_\w+|current_(?!date|local)\w+|session_user|user|version
        |getvariable|vector_type|\w*obj_description|col_description|get_block_size|finalize|combine|array_resize
        |list_resize|parse_duckdb\w+|json_(de)?serialize\w+|remap_struct|map_to_pg_oid|format_pg_type
        |variant_bytes\w+|create_sort_key|\w+_byte_comparable|apply|cast_to_type|can_cast_implicitly
        |constant_or_null|make_type|map_type_id_to_pg_oid|assert_true|collate_\w+|combine_aggr|to_aggregate_state
        |hive_partition_component|invoke|json_copy_\w+|variant_comparator|vertex_extract""",
    "clickhouse": r"""(global)?(not)?(null)?in(ignoreset)?|sleep\w*|dict\w*|file\w*|url\(
        |get(Setting|Macro|ServerPort|ServerSetting|ClientHTTPHeader
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
    **dict.fromkeys(("snowflake", "redshift", "bigquery", "databricks", "tsql"), r"(system|metadata)\$\w*|pg_\w+"),
}
"""Functions whose properties do not tell that they reach a file, the session, the configuration or the catalog."""

POSTGRES_QUERY = """
SELECT proname, provolatile IN ('i', 's') AND proparallel <> 'u' AND prokind IN ('f', 'a', 'w'), proargnames,
  (SELECT array_agg(t::regtype::text)
   FROM unnest(array_append(coalesce(proallargtypes, proargtypes::oid[]), prorettype)) AS t)
FROM pg_catalog.pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
"""

MYSQL_QUERY = """
SELECT LOWER(f.`FUNCTION`), MAX(c.name) FROM information_schema.SQL_FUNCTIONS f
LEFT JOIN mysql.help_topic t ON REPLACE(REPLACE(UPPER(t.name), '\\\\', ''), ' FUNCTION', '') = UPPER(f.`FUNCTION`)
LEFT JOIN mysql.help_category c USING (help_category_id) GROUP BY 1
"""
MYSQL_IMPURE = {"Information Functions", "Encryption Functions", "Miscellaneous Functions"}
"""Chapters of the manual on the session, on locks and on waiting; the harmless ones among them are in SYNTAX."""

CLICKHOUSE_QUERY = """
SELECT f.name, if(f.alias_to = '', f.categories, o.categories) AS category,
  if(f.alias_to = '', f.deterministic, o.deterministic) AS is_deterministic,
  arrayStringConcat(extractAll(if(f.alias_to = '', f.arguments, o.arguments), '(?m)^- `(\\\\w+)`'), ' ') AS names
FROM system.functions f LEFT JOIN system.functions o ON o.name = f.alias_to
"""
CLICKHOUSE_IMPURE = {
    "Dictionary", "Embedded Dictionary", "Introspection", "AI", "Machine Learning", "Internal", "Encryption",
}  # fmt: skip


def sqlite() -> Iterator[Function]:
    """SQLite's own functions; a scalar one is pure where it is deterministic and may stand in a view."""
    deterministic, direct_only = 0x800, 0x80000
    with closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute("SELECT name, type, flags FROM pragma_function_list WHERE builtin").fetchall()
    for name, kind, flags in rows:
        yield Function(name, (kind != "s" or bool(flags & deterministic)) and not flags & direct_only)


def postgres() -> Iterator[Function]:
    """PostgreSQL's functions; a pure one is immutable or stable, and safe in a parallel plan."""
    for name, is_pure, arguments, types in _rows(POSTGRES_URL, POSTGRES_QUERY):
        yield Function(name, is_pure, tuple(filter(None, arguments or ())), tuple(types))


def mysql() -> Iterator[Function]:
    """MariaDB's functions; what its manual files under information, encryption or miscellaneous is not pure."""
    for name, category in _rows(MYSQL_URL, MYSQL_QUERY):
        yield Function(name, category not in MYSQL_IMPURE)


def duckdb() -> Iterator[Function]:
    """DuckDB's scalar and aggregate functions and macros; a pure one is consistent.

    Overloads for times with a zone are consistent within a query, since they read the time zone of the session; they
    are pure too.
    """
    import duckdb as engine

    query = """SELECT function_name, coalesce(stability = 'CONSISTENT' OR stability = 'CONSISTENT_WITHIN_QUERY'
                 AND list_has_any(list_append(parameter_types, return_type),
                   ['TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ_NS', 'TIME WITH TIME ZONE']), true), parameters
               FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro')"""
    with engine.connect() as connection:
        for name, is_pure, arguments in connection.execute(query).fetchall():
            yield Function(name, is_pure, tuple(arguments))


def clickhouse() -> Iterator[Function]:
    """ClickHouse's functions; one that is not deterministic, or of a category with a state, is not pure."""
    import chdb

    for line in str(chdb.query(CLICKHOUSE_QUERY, "TSV")).splitlines():
        name, category, deterministic, arguments = line.split("\t")
        is_pure = category == "Random Number" or (deterministic != "0" and category not in CLICKHOUSE_IMPURE)
        # Functions on URLs take text apart; none of them opens one.
        yield Function(name, is_pure, () if category == "URL" else tuple(arguments.split()))


def documented(dialect: str) -> Iterator[Function]:
    """Functions of the reference of `dialect`; those of a chapter marked with "!" are not pure."""
    for line in (DOCUMENTED / f"{dialect}.txt").read_text(encoding="utf-8").splitlines():
        chapter, _, names = line.partition(": ")
        if not line.startswith("#"):
            yield from (Function(name, not chapter.startswith("!")) for name in names.split())


def databricks() -> Iterator[Function]:
    """Functions of Spark's list, which is kept by hand, and those that the reference of Databricks adds."""
    lines = (FOLDER / "spark.txt").read_text(encoding="utf-8").splitlines()
    yield from (Function(name, True) for name in lines if not name.startswith("#"))
    yield from documented("databricks")


SOURCES: dict[str, Callable[[], Iterable[Function]]] = {
    "sqlite": sqlite,
    "postgres": postgres,
    "mysql": mysql,
    "duckdb": duckdb,
    "clickhouse": clickhouse,
    **{name: partial(documented, name) for name in ("snowflake", "redshift", "bigquery", "tsql")},
    "databricks": databricks,
}


def danger(function: Function) -> str | None:
    """Return the property for which no overload of this name may be called; None where there is none."""
    if not function.is_pure:
        return "side effects or state"
    for argument in function.arguments:
        if READS_BY_NAME.fullmatch(argument):
            return f"reads what its argument {argument} names"
        if READS_PATH.fullmatch(argument) and not WORKS_ON_TEXT.fullmatch(function.name):
            return f"reads what its argument {argument} names"
    kinds = (kind for kind in function.types if kind not in TEXT_SEARCH_TYPES)
    return next((f"takes or gives {kind}" for kind in kinds if DANGEROUS_TYPES.fullmatch(kind)), None)


def harmless(dialect: str, functions: Iterable[Function]) -> list[str]:
    """Return the names among `functions` that a query may call, with the syntax of the dialect, in lower case.

    A name stays where no overload is dangerous and one takes and gives values alone.
    """
    forbidden = re.compile(re.sub(r"\s+", "", FORBIDDEN[dialect]), re.IGNORECASE)
    overloads: dict[str, list[Function]] = {}
    for function in functions:
        if re.fullmatch(r"\w+", function.name) and not forbidden.fullmatch(function.name):
            overloads.setdefault(function.name.lower(), []).append(function)
    kept = {
        name
        for name, variants in overloads.items()
        if not any(map(danger, variants))
        and any(not any(map(LOOKUP_TYPES.fullmatch, variant.types)) for variant in variants)
    }
    return sorted(kept | {name for name in SYNTAX[dialect].split() if name.isidentifier()})


def write(dialect: str) -> None:
    """Write the list of `dialect` from its engine."""
    names = harmless(dialect, SOURCES[dialect]())
    source = f"tests/documented_functions/{dialect}.txt"
    header = [f"# Generated from {source}, which names its source."] if (FOLDER.parents[2] / source).exists() else []
    (FOLDER / f"{dialect}.txt").write_text("\n".join([*header, *names]) + "\n", encoding="utf-8")


def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    from sqlalchemy import create_engine

    engine = create_engine(url)
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql(query)]
    engine.dispose()
    return rows


if __name__ == "__main__":
    for wanted in sys.argv[1:] or SOURCES:
        try:
            write(wanted)
        except ImportError as error:
            print(f"{wanted}: skipped, {error}")
