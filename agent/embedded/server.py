"""The server of the embedded model: llama.cpp with an OpenAI-compatible API, in this process, on a loopback port.

The rest of the code therefore connects to every model in the same way.
"""

import ctypes
import os
import secrets
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from datasphinx.agent.embedded.prefix_cache import PrefixCache
from datasphinx.agent.embedded.tiers import TIERS, Tier
from datasphinx.agent.embedded.weights import embedded_weights
from datasphinx.agent.errors import DriverMissing, Unavailable
from datasphinx.agent.messages import Message
from datasphinx.agent.record.waiting import report_waiting
from datasphinx.agent.types import EmbeddedModel

CONTEXT_TOKENS = 4096
"""Maximum number of tokens of prompt and answer together."""

_PROMPT_CACHE_MIB = 128
_MAX_THREADS = 8
_QUIET = -1
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/core_cpus_list"

_LOAD_SAMPLES, _SAMPLE_INTERVAL_S = 5, 0.002
_LOAD = Path("/proc/loadavg")

_lock = threading.Lock()


@dataclass
class Endpoint:
    """A server of the embedded model."""

    url: str
    """The address."""
    key: str
    """The API key, without which the server rejects requests."""
    prefixes: PrefixCache
    """The stored states of the server after the beginnings of prompts."""
    prefix: str = ""
    """The beginning of the prompt that the server read last."""


request_lock = threading.Lock()
"""Held during a request to any of the servers, since they use the same cores."""

_servers: dict[tuple[EmbeddedModel, bool, int], Endpoint] = {}
"""The servers by tier, by whether they have the adapter, and by their number of threads: one, or one for each core."""


def embedded_endpoint(
    cache_dir: Path, tier_name: EmbeddedModel = "base", *, adapter: bool = True, threads: int | None = None
) -> Endpoint:
    """Return the server of the embedded model, which the first call starts.

    With `adapter`, the server runs the model trained for this project, otherwise the published base model. By default,
    it has the number of `threads` that suits the machine now. A process has at most one server of each tier, kind and
    number of threads; those of a tier share the memory of the weights. Later values of `cache_dir` are ignored.

    Raises:
        Unavailable: weights or adapter are missing, or the server does not start.
    """
    tier, threads = TIERS[tier_name], threads or suitable_threads()
    with _lock:
        if (tier_name, adapter, threads) not in _servers:
            library = _library()
            if adapter and not tier.adapter.is_file():
                raise Unavailable(
                    "embedded_model_unavailable", reason=Message("adapter_missing", file=str(tier.adapter))
                )
            report_waiting("loading_model")
            weights = embedded_weights(cache_dir, tier.weights)
            file = tier.adapter if adapter else None
            _servers[tier_name, adapter, threads] = _start(library, cache_dir, tier, weights, file, threads)
        return _servers[tier_name, adapter, threads]


def suitable_threads() -> int:
    """Return the number of threads for the next answer: one for each core, or one if other processes use the cores.

    The threads of llama.cpp wait for each other several hundred times per token. If one of them has to share its core,
    all wait for it: a prompt that takes 6 s with one thread on a busy machine takes 68 s with two.
    """
    threads = max_threads()
    if threads == 1:
        return 1
    return threads if (os.cpu_count() or 1) - _busy_cpus() >= threads else 1


def _busy_cpus() -> float:
    """Return the number of threads that run or wait for a CPU, without those that run for a moment only."""
    running = []
    for _ in range(_LOAD_SAMPLES):
        try:
            # "0.00 0.01 0.05 1/80 1234": the fourth field has the number of such threads, including this one.
            running.append(int(_LOAD.read_text().split()[3].partition("/")[0]) - 1)
        except (OSError, ValueError, IndexError):
            return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
        time.sleep(_SAMPLE_INTERVAL_S)
    return min(running)


def _library() -> ModuleType:
    try:
        import xllamacpp
    except ImportError as error:
        raise DriverMissing("xllamacpp", "local") from error
    return xllamacpp  # type: ignore[no-any-return]


def _start(
    library: ModuleType, cache_dir: Path, tier: Tier, weights: Path, adapter: Path | None, threads: int
) -> Endpoint:
    key = secrets.token_urlsafe(32)
    version = str(getattr(library, "__version__", ""))
    prefixes = PrefixCache(cache_dir / "prompts", (version, tier.weights.sha256, CONTEXT_TOKENS), adapter)
    try:
        server = library.Server(_parameters(library, tier, weights, adapter, threads, key, prefixes))
        # Never destroyed: the destructor can block forever during a request or right after the start. The threads of
        # the server end with the process.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    except Exception as error:
        reason = Message("model_server_not_started", error=str(error), file=str(weights))
        raise Unavailable("embedded_model_unavailable", reason=reason) from error
    return Endpoint(server.listening_address, key, prefixes)


def _parameters(
    library: ModuleType,
    tier: Tier,
    weights: Path,
    adapter: Path | None,
    threads: int,
    key: str,
    prefixes: PrefixCache,
) -> Any:
    parameters = library.CommonParams()
    parameters.model.path = str(weights)
    if adapter:
        parameters.lora_adapters = [library.CommonAdapterLoraInfo(str(adapter), 1.0)]
    parameters.model_alias = {tier.model}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.verbosity = _QUIET
    parameters.n_ctx = CONTEXT_TOKENS
    # A further slot would reduce the context of the first. On two cores, decoding three answers in parallel takes 90 %
    # of the time of decoding them in sequence.
    parameters.n_parallel = 1
    parameters.fit_params = False
    parameters.cache_prompt = True
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    # Other users of the machine, and web pages in the user's browser, can reach loopback ports.
    parameters.api_keys = [key]
    parameters.cors_origins = ""
    # Prompts cannot be read. States can be saved and restored, in this folder only.
    parameters.endpoint_slots = False
    if prefixes.folder:
        parameters.slot_save_path = f"{prefixes.folder}{os.sep}"
    parameters.ui = False
    # Defaults for requests: greedy decoding, so that answers are reproducible.
    parameters.sampling.temp = 0.0
    parameters.sampling.seed = 0
    return parameters


def max_threads() -> int:
    """Return the maximum number of threads: llama.cpp's spin while they wait, so one for each physical core."""
    return max(1, min(_physical_cores(), int(_quota()), _MAX_THREADS))


def _physical_cores() -> int:
    """Return the number of physical cores that the process may use; of logical CPUs if the topology is unknown."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = set()
    for cpu in cpus:
        try:
            cores.add(Path(_TOPOLOGY.format(cpu)).read_text())
        except OSError:
            cores.add(str(cpu))
    return len(cores)


def _quota() -> float:
    # cgroup v2 gives "QUOTA PERIOD" in microseconds, or "max PERIOD".
    try:
        quota, period = _CGROUP_QUOTA.read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return _MAX_THREADS
