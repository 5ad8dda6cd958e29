"""The server of the embedded model: llama.cpp with an OpenAI-compatible API, in this process, on a loopback port.

The rest of the code therefore connects to every model in the same way.
"""

import ctypes
import os
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.embedded.weights import embedded_weights
from agent.errors import DriverMissing, EmbeddedModelUnavailable
from agent.messages import Message

EMBEDDED_MODEL_NAME = "smollm2-135m-instruct"
"""The name of the model; the server accepts any name."""

ADAPTER = Path(__file__).parent / "adapter" / "datasphinx-sql.gguf"
"""The trained adapter (LoRA, Hu et al. 2021) that the package contains."""

CONTEXT_TOKENS = 4096
"""Maximum number of tokens of prompt and answer together."""

_PROMPT_CACHE_MIB = 256
_MAX_THREADS = 8
_QUIET = -1
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/core_cpus_list"

_lock = threading.Lock()
_servers: dict[bool, Any] = {}
"""The servers with (True) and without (False) the adapter."""


def embedded_endpoint(cache_dir: Path, *, adapter: bool = True) -> str:
    """Return the base URL, ending in /v1, of the embedded model's server, which the first call starts.

    With `adapter`, the server runs the model trained for this project, otherwise the published base model. A process
    has at most one server of each kind; later values of `cache_dir` are ignored. Requests are processed one at a time.

    Raises:
        DriverMissing: xllamacpp is not installed.
        EmbeddedModelUnavailable: weights or adapter are missing, or the server does not start.
    """
    with _lock:
        if adapter not in _servers:
            library = _library()
            if adapter and not ADAPTER.is_file():
                raise EmbeddedModelUnavailable(Message("adapter_missing", file=str(ADAPTER)))
            _servers[adapter] = _start(library, embedded_weights(cache_dir), ADAPTER if adapter else None)
        return f"{_servers[adapter].listening_address}/v1"


def _library() -> ModuleType:
    try:
        import xllamacpp
    except ImportError as error:
        raise DriverMissing("xllamacpp", "local") from error
    return xllamacpp  # type: ignore[no-any-return]


def _start(library: ModuleType, weights: Path, adapter: Path | None) -> Any:
    try:
        server = library.Server(_parameters(library, weights, adapter))
        # Never destroyed: the destructor can block forever during a request or right after the start. The threads of
        # the server end with the process.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
        return server
    except Exception as error:
        reason = Message("model_server_not_started", error=str(error), file=str(weights))
        raise EmbeddedModelUnavailable(reason) from error


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
    # A web page in the user's browser can reach loopback ports; it must not read responses or prompts.
    parameters.cors_origins = ""
    parameters.endpoint_slots = False
    parameters.ui = False
    # Defaults for requests: greedy decoding, so that answers are reproducible.
    parameters.sampling.temp = 0.0
    parameters.sampling.seed = 0
    return parameters


def _limit(parameters: Any) -> None:
    parameters.n_ctx = CONTEXT_TOKENS
    # A further slot would reduce the context of the first. On two cores, decoding three answers in parallel takes 90 %
    # of the time of decoding them in sequence.
    parameters.n_parallel = 1
    parameters.fit_params = False
    parameters.cache_prompt = True
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = _threads()


def _threads() -> int:
    # llama.cpp's threads spin while they wait, so more threads than physical cores slow it down.
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
