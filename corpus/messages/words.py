"""How telling the words of a template are."""

from __future__ import annotations

import re

COMMON = frozenset(
    """a all allowed already an and any are argument arguments array as at attribute available backend be been before both but by
    can cannot class compatible config configuration contain contains could defined device did dimension dimensions divisible do
    does dtype each either empty equal error exactly exist exists expect expected failed file following for found from function
    get given got greater group has have id if implemented in index initialized input instance int integer invalid is it key
    keys kernel layer least length less list loaded match matching method missing mode model module more must name names
    negative no non none not number object of on one only open op option or other output parameter parse path please positive provide
    provided quantization rank received required requires same set shape should size some specified string supported supports
    support tensor tensors than that the their there this to too torch tuple type types unable unexpected unknown unrecognized
    unsupported use used valid value values was weight weights when where which with yet you your zero""".split()  # noqa: SIM905 (a list of words reads as one)
)
"""Words that stand in so many messages that they name no bucket."""
_WORD = re.compile(r"[A-Za-z][A-Za-z_'-]*[A-Za-z]|[A-Za-z]")


def distinctive(template: str) -> int:
    """Return how many different words of a template are not common ones."""
    return len({word.lower() for word in _WORD.findall(template.replace("{}", " "))} - COMMON)
