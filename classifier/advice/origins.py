"""Where no rule speaks: what the place that raised an error asks for."""

from __future__ import annotations

from ..fix import OF_SOURCES, Fix, leave_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..raise_sites.explain import Explained


def without(site: Explained) -> list[Fix]:
    """Return the fix that takes back the option for which alone an error is raised."""
    option = site.asked_for
    if not option:
        return []
    what = "What the option does."
    return [
        Fix(f"Start without {option}", "flag", leave_out([option]), site.sentence, what, option=option, restart=True, source=OF_SOURCES, whole=True)
    ]  # fmt: skip
