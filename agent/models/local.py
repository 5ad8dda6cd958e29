"""The embedded model: llama.cpp's OpenAI-compatible server in this process, on a loopback port.

So the rest of the agent knows one way to reach a model.
"""

import ctypes
import os
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.errors import DriverMissing, EmbeddedModelUnavailable
from agent.models.weights import embedded_weights

EMBEDDED_MODEL_NAME = "smollm2-135m-instruct"
"""What the server calls its model; it answers to any name."""

ADAPTER = Path(__file__).parent / "adapter" / "datasphinx-sql.gguf"
"""What training changed of the weights (a LoRA, Hu et al. 2021), as the package ships it."""

CONTEXT_TOKENS = 4096
"""Tokens that prompt and answer may have together."""

_PROMPT_CACHE_MIB = 256
_MAX_THREADS = 8
_QUIET = -1
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/core_cpus_list"

_lock = threading.Lock()
_servers: dict[bool, Any] = {}
"""By whether they have the adapter."""


def embedded_endpoint(cache_dir: Path, *, adapter: bool = True) -> str:
    """Return the base URL, ending in /v1, of the embedded model's server; the first call starts it.

    With `adapter` it is the model as it was trained for this project, else the base model as it was published. One
    server of each serves the whole process, whatever `cache_dir` later calls name; requests wait for one another.

    Raises:
        DriverMissing: xllamacpp is not installed.
        EmbeddedModelUnavailable: weights or adapter cannot be had, or the server does not start.
    """
    with _lock:
        if adapter not in _servers:
            library = _library()
            trained = _adapter() if adapter else None
            _servers[adapter] = _start(library, embedded_weights(cache_dir), trained)
        return f"{_servers[adapter].listening_address}/v1"


def _library() -> ModuleType:
    try:
        import xllamacpp
    except ImportError as error:
        raise DriverMissing("xllamacpp", "local") from error
    return xllamacpp  # type: ignore[no-any-return]


def _adapter() -> Path:
    if not ADAPTER.is_file():
        raise EmbeddedModelUnavailable(f"{ADAPTER} is missing; install the package datasphinx again.")
    return ADAPTER


def _start(library: ModuleType, weights: Path, adapter: Path | None) -> Any:
    try:
        server = library.Server(_parameters(library, weights, adapter))
        # It is never destroyed: its destructor can wait for ever, for a request or right after the start. Its threads
        # end with the process.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
        return server
    except Exception as error:
        advice = f"Delete {weights} to have it fetched anew, and update xllamacpp."
        raise EmbeddedModelUnavailable(f"llama.cpp did not start ({error}). {advice}") from error


def _parameters(library: ModuleType, weights: Path, adapter: Path | None) -> Any:
    parameters = library.CommonParams()
    parameters.model.path = str(weights)
    if adapter:
        parameters.lora_adapters = [library.CommonAdapterLoraInfo(str(adapter), 1.0)]
    parameters.model_alias = {EMBEDDED_MODEL_NAME}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.verbosity = _QUIET
    _limit(parameters)
    _keep_private(parameters)
    # What a request does not say: the likeliest token, so that an answer can be had again.
    parameters.sampling.temp = 0.0
    parameters.sampling.seed = 0
    return parameters


def _limit(parameters: Any) -> None:
    parameters.n_ctx = CONTEXT_TOKENS
    # Each further slot would take its share of the context away from the first, and decoding three answers at once
    # takes nine tenths of the time that one after the other takes: two cores are busy with one.
    parameters.n_parallel = 1
    parameters.fit_params = False
    parameters.cache_prompt = True
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _threads()


def _keep_private(parameters: Any) -> None:
    # A page in the user's browser can reach loopback ports: it gets no permission to read, and no prompts to see.
    parameters.cors_origins = ""
    parameters.endpoint_slots = False
    parameters.ui = False


def _threads() -> int:
    # llama.cpp's threads wait for one another by spinning: more than there are real cores make it slower, not faster.
    cores = len({_core(cpu) for cpu in _usable_cpus()})
    return max(1, min(cores, int(_quota()), _MAX_THREADS))


def _usable_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _core(cpu: int) -> str:
    try:
        return Path(_TOPOLOGY.format(cpu)).read_text()
    except OSError:
        return str(cpu)


def _quota() -> float:
    # cgroup v2 gives "QUOTA PERIOD" in microseconds, or "max PERIOD".
    try:
        quota, period = _CGROUP_QUOTA.read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return _MAX_THREADS
