"""Stands in a server's PATH as ``vllm``: hands its arguments, environment and outputs to the preloaded process.

Run by any Python, needs nothing of ours: ``python preloaded_client.py SOCKET ARGUMENT…``.
"""

import json
import os
import socket
import sys
from pathlib import Path

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[1])
        asked = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": str(Path.cwd())}
        content = json.dumps(asked).encode() + b"\n"
        sent = socket.send_fds(connection, [content], [1, 2])
        connection.sendall(content[sent:])
        answer = connection.makefile()
        pid = answer.readline().strip()
        # Whoever started this looks for the server's processes by their session, which is another one.
        Path(os.environ["PROVE_SESSION"]).write_text(pid)
        sys.exit(int(answer.readline() or 1) & 255)
