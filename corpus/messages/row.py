"""One row of the catalogue: a message that vLLM or a package around it can print, and what it means."""

from __future__ import annotations

from ..records import Record, record
from .words import distinctive

KINDS = ("raise", "assert", "argparse", "answer", "native", "log")
"""Strongest first: where one text is both raised and logged, the row says ``raise``."""
SLOT = "{}"
LEAST = 16
"""Literal characters that a whole message needs to decide where its words are not specific."""
LEAST_OF_MODULE = 24
"""The same where the message tells its module."""
WORDS = 2
"""Words of it that are not common."""
NOBODYS = frozenset({"python"})
"""What everybody's code says: such words name nothing, however few say them."""
OWNERS = ("user", "model", "environment", "hardware", "package", "plugin", "client", "vllm")
BY = ("read", "rule", "place")
FATAL = ("start", "any", "request", "survived", "never")


@record(slots=True, frozen=True)
class Label(Record):
    """What a message stands for."""

    bucket: str
    """Root cause, an id of corpus/buckets; ``no_failure`` of what is harmless."""
    cause: str
    """A cause id of that bucket, or empty."""
    owner: str
    """Whose turn it is, one of ``OWNERS``."""
    fatal: str
    """What it ends: a ``start`` (or the running engine), one ``request``, ``any`` of these, nothing (``survived``); ``never``: it
    only ever stands beside another error that is the cause."""
    specific: bool = False
    """The words alone decide the bucket."""
    by: str = "place"
    """``read``: somebody read the message, or one that differs in a few letters; ``rule``: a strong rule of corpus/buckets, or an
    expression over the words of one package's messages, names it; ``place``: the label is that of its module."""


@record(slots=True, frozen=True)
class Row(Record):
    """One message, once for all releases and places that print it."""

    package: str
    """Distribution that prints it: ``vllm``, ``torch``. The name of the file in which the row stands."""
    template: str
    """The text, ``{}`` where a value is put in, runs of white space as one space."""
    kind: str
    """One of ``KINDS``."""
    name: str
    """The exception's class, or the level of what is logged; empty for answers to requests."""
    path: str
    """The module in the newest release that has it, below the package's folder, without ``.py``."""
    function: str
    """The innermost function, as a traceback's frame names it."""
    sites: int
    """How many places of that release print it."""
    first: str
    """Oldest release among those read that has it."""
    last: str
    """Newest release that has it; empty: still there in the newest that was read."""
    label: Label

    @property
    def decides(self) -> bool:
        """Return whether the row's words alone name the bucket."""
        return self.label.specific and self.ends

    @property
    def ends(self) -> bool:
        """Return whether the row can be a root cause: not what was survived, not what only stands beside one."""
        return self.label.by != "place" and self.label.fatal not in ("never", "survived")

    @property
    def literal(self) -> int:
        """Literal characters of the template."""
        return len(self.template.replace(SLOT, ""))

    @property
    def tells(self) -> bool:
        """Return whether the row names the bucket where it is the whole of a message."""
        return (
            self.package not in NOBODYS and self.ends and self.literal >= LEAST and distinctive(self.template) >= WORDS
        )

    @property
    def tells_module(self) -> bool:
        """Return whether it does so by its module: nobody has read it, and no other package says it in these words."""
        return (
            self.package != "vllm"
            and self.label.by == "place"
            and self.label.fatal not in ("never", "survived")
            and self.label.bucket not in ("no_failure", "unknown")
            and self.literal >= LEAST_OF_MODULE
            and distinctive(self.template) >= WORDS
        )
