"""A process that has vLLM imported and starts servers by forking; run by the Python of a release, needs nothing of ours.

``python preloaded.py SOCKET``: whoever connects sends its arguments, environment and folder, and its outputs as file
descriptors; the fork runs vLLM's own command line with them in a session of its own. The answer is two lines: the process
id, then how it ended.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
import sys
import threading
from typing import Any, NoReturn

# What a start imports on its way to the engine's own process, by names of several releases.
_MODULES = (
    "vllm.entrypoints.cli.main",
    "vllm.entrypoints.cli.serve",
    "vllm.entrypoints.openai.api_server",
    "vllm.engine.arg_utils",
    "vllm.v1.engine.core",
    "vllm.v1.engine.async_llm",
    "transformers.models.auto.configuration_auto",
    "transformers.models.auto.tokenization_auto",
)


def main(path: str) -> NoReturn:
    """Import vLLM, then fork for each connection."""
    for name in _MODULES:
        with contextlib.suppress(ImportError):  # another release has it elsewhere
            importlib.import_module(name)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()
    print("ready", flush=True)
    while True:
        connection, _ = listening.accept()
        content, files, _, _ = socket.recv_fds(connection, 1 << 20, 2)
        while not content.endswith(b"\n"):
            content += connection.recv(1 << 20)
        pid = os.fork()
        if not pid:
            listening.close()
            _become(json.loads(content), files)
        for file in files:
            os.close(file)
        connection.sendall(b"%d\n" % pid)
        threading.Thread(target=_wait, args=(pid, connection), daemon=True).start()


def _wait(pid: int, connection: socket.socket) -> None:
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):  # nobody waits for it any more
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    connection.close()


def _fork_for_spawn() -> None:
    """Let the engine's process be a fork as well: a spawned one would import vLLM anew, which takes longer than all else."""
    import multiprocessing.context
    from multiprocessing.popen_fork import Popen

    setattr(multiprocessing.context.SpawnProcess, "_Popen", staticmethod(Popen))  # noqa: B010


def _become(asked: dict[str, Any], files: list[int]) -> NoReturn:
    """Be the command that was asked for; never return."""
    code = 1
    os.setsid()
    os.dup2(files[0], 1)
    os.dup2(files[1], 2)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["vllm", *asked["arguments"]]
    _fork_for_spawn()
    try:
        from vllm.entrypoints.cli.main import main as run

        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as the interpreter does at its end
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 255)


if __name__ == "__main__":
    main(sys.argv[1])
