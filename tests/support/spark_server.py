"""A Spark Thrift server on loopback, started once and only where a test asks for it."""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import pytest

_START_S = 120


def spark_url() -> str:
    """Return the URL of the server; skip the test where Java or pyspark is missing."""
    port, server, log = _started()
    _wait_for(port, server, log)
    return f"spark://datasphinx@127.0.0.1:{port}/default"


@lru_cache
def _started() -> tuple[int, "subprocess.Popen[bytes]", Path]:
    """Return the port of the server, which each test that comes before it listens waits for, its process and log."""
    found = find_spec("pyspark")
    if found is None or find_spec("pyhive") is None:
        pytest.skip("the extra dev-distributed, which brings pyspark, is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none")
    folder, port = tempfile.mkdtemp(prefix="datasphinx-spark-"), _free_port()
    log_file = Path(folder) / "log"
    metastore = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    command = [
        str(Path(found.submodule_search_locations[0]) / "bin/spark-submit"),  # type: ignore[index]
        "--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
        "--master", "local[2]", "--driver-memory", "1g", "--driver-java-options", f"-Djava.io.tmpdir={folder}",
        "--conf", "spark.ui.enabled=false",
        "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", f"spark.sql.warehouse.dir={folder}/warehouse",
        "--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL={metastore}",
        "--hiveconf", f"hive.server2.thrift.port={port}", "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1",
        "spark-internal",
    ]  # fmt: skip
    with log_file.open("wb") as log:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": folder, "TMPDIR": folder}
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
    atexit.register(_stop, server, folder)
    return port, server, log_file


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"Spark's Thrift server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def _stop(server: "subprocess.Popen[bytes]", folder: str) -> None:
    server.kill()
    server.wait()
    shutil.rmtree(folder, ignore_errors=True)
