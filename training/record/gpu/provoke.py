"""Provokes one failure of PyTorch, CUDA or NCCL: `python provoke.py SCENARIO`.

Runs by itself in any Python that has torch; nothing here catches anything, because what torch prints is the point.
`python provoke.py --probe` tells as JSON what the machine has.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

GIB = 2**30
PATIENCE = timedelta(seconds=10)
"""For collectives and rendezvous: what comes after minutes in production comes after seconds here."""
SPIN = 120_000_000_000
"""Clock cycles for which a kernel keeps the GPU busy: about a minute."""
NOWHERE = 0x7000_0000_0000
"""A device address at which nothing is mapped."""


def torch() -> Any:
    """Return torch; imported late, because some scenarios fork before."""
    return importlib.import_module("torch")


def out_of_memory_load() -> None:
    """Weights, layer by layer, until no more fit."""
    layers: list[Any] = []
    while len(layers) < 500:
        layers.append(torch().nn.Linear(32768, 32768, bias=False, device="cuda", dtype=torch().bfloat16))


def out_of_memory_activation() -> None:
    """One activation that is larger than what the weights leave."""
    _, total = torch().cuda.mem_get_info()
    weights = torch().empty(int(total * 0.6), dtype=torch().uint8, device="cuda")
    torch().nn.functional.silu(torch().empty(int(total * 0.15), dtype=torch().bfloat16, device="cuda"))
    del weights


def out_of_memory_fragmentation() -> None:
    """Half of the memory is free, in pieces of 9 MiB."""
    piece = 9 * 2**20
    kept = []
    while torch().cuda.mem_get_info()[0] > GIB:
        kept.append(torch().empty(piece, dtype=torch().uint8, device="cuda"))
    del kept[::2]
    torch().empty(2 * GIB, dtype=torch().uint8, device="cuda")


def out_of_memory_share() -> None:
    """A process that may use a twentieth of the memory asks for more."""
    _, total = torch().cuda.mem_get_info()
    torch().cuda.set_per_process_memory_fraction(0.05)
    torch().empty(total // 10, dtype=torch().uint8, device="cuda")


def cublas_allocation() -> None:
    """No room for cuBLAS's own workspace."""
    factors = torch().ones(64, 64, device="cuda")
    kept, size = [], 8 * GIB
    while size >= 2**21:
        try:
            kept.append(torch().empty(size, dtype=torch().uint8, device="cuda"))
        except torch().cuda.OutOfMemoryError:
            size //= 2
    print((factors @ factors).sum().item())


def illegal_access() -> None:
    """A kernel writes where nothing is mapped."""
    _unmapped().fill_(1)
    torch().cuda.synchronize()


def device_assert_index() -> None:
    """An index beyond a tensor."""
    table = torch().arange(10, device="cuda")
    print(table[torch().tensor([99], device="cuda")].sum().item())


def device_assert_embedding() -> None:
    """A token beyond the vocabulary."""
    weight = torch().zeros(512, 8, device="cuda")
    print(torch().nn.functional.embedding(torch().tensor([600], device="cuda"), weight).sum().item())


def probabilities_nan() -> None:
    """Sampling from what is no distribution."""
    print(torch().multinomial(torch().tensor([0.1, float("nan")], device="cuda"), 1).item())


def kernel_image() -> None:
    """Kernels for other GPUs only; the driver was told to ignore the binaries that fit."""
    print((torch().ones(4, device="cuda") * 2).sum().item())


def capture_forbidden() -> None:
    """Something that waits for the GPU, while a graph is captured."""
    value = torch().ones(4, device="cuda")
    with torch().cuda.graph(torch().cuda.CUDAGraph()):
        print(value.sum().item())


def capture_out_of_memory() -> None:
    """No room for a graph's own memory."""
    _, total = torch().cuda.mem_get_info()
    weights = torch().empty(int(total * 0.8), dtype=torch().uint8, device="cuda")
    with torch().cuda.graph(torch().cuda.CUDAGraph()):
        torch().zeros(int(total * 0.4), dtype=torch().uint8, device="cuda")
    del weights


def replay_index() -> None:
    """A graph that was right when it was captured meets an index beyond the table."""
    table, index = torch().arange(10, device="cuda"), torch().tensor([1], device="cuda")
    table[index].sum()
    graph = torch().cuda.CUDAGraph()
    with torch().cuda.graph(graph):
        table[index].sum()
    index.fill_(99)
    graph.replay()
    torch().cuda.synchronize()


def replay_illegal_access() -> None:
    """A graph that holds the address of memory that is gone."""
    gone = _unmapped()
    graph = torch().cuda.CUDAGraph()
    with torch().cuda.graph(graph):
        gone.fill_(1)
    graph.replay()
    torch().cuda.synchronize()


def device_ordinal() -> None:
    """A device that the machine does not have."""
    torch().zeros(1, device=f"cuda:{torch().cuda.device_count()}")


def forked() -> None:
    """CUDA in a process that was forked after CUDA was used."""
    with suppress(RuntimeError):  # without a GPU too: to have tried is enough
        torch().cuda.init()
    child = multiprocessing.get_context("fork").Process(target=_use_gpu)
    child.start()
    child.join()


def no_device() -> None:
    """No GPU to be seen: none there, or none visible."""
    _use_gpu()


def nccl_duplicate_gpu() -> None:
    """Two ranks on one GPU."""
    _group("nccl")
    torch().distributed.all_reduce(torch().ones(4, device="cuda"))
    torch().cuda.synchronize()


def nccl_id_time_out() -> None:
    """The rank that makes the communicator's id does not come."""
    _group("nccl")
    if _rank() == 0:
        time.sleep(30)
        return
    torch().distributed.all_reduce(torch().ones(4, device="cuda"))


def nccl_heartbeat() -> None:
    """A communicator whose other rank never comes; the monitor of the watchdog ends the process."""
    _group("nccl")
    if _rank() == 1:
        time.sleep(90)
        return
    torch().distributed.all_reduce(torch().ones(4, device="cuda"))
    torch().cuda.synchronize()


def nccl_watchdog() -> None:
    """A collective behind a kernel that does not end in time."""
    _group("nccl")
    value = torch().ones(4, device="cuda")
    torch().distributed.all_reduce(value)
    torch().cuda.synchronize()
    torch().cuda._sleep(SPIN)  # noqa: SLF001 - torch's own way to keep a GPU busy
    torch().distributed.all_reduce(value)
    torch().cuda.synchronize()


def gloo_peer_gone() -> None:
    """A rank ends in the middle of a collective."""
    _group("gloo")
    if _rank() == 1:
        os._exit(1)
    for _ in range(50):
        torch().distributed.all_reduce(torch().ones(1 << 20))


def gloo_time_out() -> None:
    """A rank that does not take part."""
    _group("gloo")
    if _rank() == 1:
        time.sleep(25)
        return
    torch().distributed.all_reduce(torch().ones(4))


def store_time_out() -> None:
    """A rendezvous to which one of two ranks never comes."""
    if _rank() == 0:
        _group("gloo")


def store_refused() -> None:
    """A rendezvous at an address where nobody listens."""
    os.environ["MASTER_PORT"] = "9"
    if _rank() == 1:
        _group("gloo")


def store_port_taken() -> None:
    """The rendezvous port is held by another process."""
    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))  # noqa: S104 - as torch itself does
        holder.listen()
        os.environ["MASTER_PORT"] = str(holder.getsockname()[1])
        _group("gloo")


def host_memory() -> None:
    """More host memory than there is."""
    torch().empty(1 << 50, dtype=torch().uint8)


SCENARIOS: dict[str, Callable[[], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        out_of_memory_load,
        out_of_memory_activation,
        out_of_memory_fragmentation,
        out_of_memory_share,
        cublas_allocation,
        illegal_access,
        device_assert_index,
        device_assert_embedding,
        probabilities_nan,
        kernel_image,
        capture_forbidden,
        capture_out_of_memory,
        replay_index,
        replay_illegal_access,
        device_ordinal,
        forked,
        no_device,
        nccl_duplicate_gpu,
        nccl_id_time_out,
        nccl_heartbeat,
        nccl_watchdog,
        gloo_peer_gone,
        gloo_time_out,
        store_time_out,
        store_refused,
        store_port_taken,
        host_memory,
    )
}
TWO_RANKS = {"nccl-duplicate-gpu", "nccl-id-time-out", "nccl-heartbeat", "gloo-peer-gone", "gloo-time-out", "store-time-out", "store-refused"}  # fmt: skip


def main() -> int:
    """Provoke the scenario that is named; two ranks are two processes of this file."""
    name = sys.argv[1]
    if name == "--probe":
        return _probe()
    if name not in TWO_RANKS or "RANK" in os.environ:
        SCENARIOS[name]()
        return 0
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen([sys.executable, __file__, name], env={**common, "RANK": str(rank)})  # noqa: S603 - ourselves
        for rank in range(2)
    ]
    return max(abs(rank.wait()) for rank in ranks)


def _probe() -> int:
    try:
        found = torch()
    except ImportError:
        print(json.dumps({}))
        return 0
    gpus = found.cuda.device_count() if found.cuda.is_available() else 0
    print(json.dumps({"torch": found.__version__, "cuda": found.version.cuda or "", "gpus": gpus}))
    return 0


def _group(backend: str) -> None:
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29544")
    torch().distributed.init_process_group(
        backend, rank=_rank(), world_size=int(os.environ.get("WORLD_SIZE", "1")), timeout=PATIENCE
    )


def _rank() -> int:
    return int(os.environ.get("RANK", "0"))


def _unmapped() -> Any:
    """Return a tensor at a device address where nothing is."""
    device = torch().device("cuda:0")
    torch().zeros(1, device=device)
    storage = torch()._C._construct_storage_from_data_pointer(NOWHERE, device, 4096)  # noqa: SLF001 - no public way
    return torch().empty(0, dtype=torch().uint8, device=device).set_(storage)


def _use_gpu() -> None:
    torch().zeros(1, device="cuda")


if __name__ == "__main__":
    sys.exit(main())
