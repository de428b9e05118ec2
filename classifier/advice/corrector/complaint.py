"""One thing that an error finds fault with."""

from __future__ import annotations

from ....corpus.records import Record, record


@record(frozen=True, slots=True)
class Complaint(Record):
    """What was refused, and what would have been accepted."""

    name: str
    """The option (``--dtype``, with the key of a JSON value behind a dot) or the variable."""
    given: str = ""
    """The value that was refused; "" where the message does not quote it."""
    allowed: tuple[str, ...] = ()
    """All that is accepted, where it is a list."""
    kind: str = ""
    """What is accepted otherwise: ``int``, ``float``, ``bool``, ``json``, ``switch``, ``type`` (of another type), ``value`` (one is missing), ``none``
    (it may not stand there), ``path`` (the file in ``given`` is not there), ``added`` (a key that is missing), ``bound`` (it takes the
    value in ``allowed``, another setting's), ``needs`` (it wants the option in ``given`` beside it), ``set`` (the
    message tells to set it to ``given``)."""
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    """Whether ``low`` itself is refused."""
    open_high: bool = False

    @property
    def variable(self) -> bool:
        """Whether it is a variable of the environment."""
        return not self.name.startswith("-")
