"""A typed client of the service's API, for programs with and without an event loop.

Example:
    with Client("http://127.0.0.1:8501") as client:
        answer = client.triage(Path("server.log"), service="chat")
        print(answer.cause, answer.incident and answer.incident.occurrences)
"""

from .asynchronous import AsyncClient
from .errors import ClientError, ProblemError, UnreachableError
from .synchronous import Client

__all__ = ["AsyncClient", "Client", "ClientError", "ProblemError", "UnreachableError"]
