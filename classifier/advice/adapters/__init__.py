"""Adapters make a fix fit the platform, the release, the installation and who makes the engine, or withhold it.

Each is ``(Fix, Context) -> Fix`` or None with the reason. Their order counts: the first that withholds gives the reason.
"""

from __future__ import annotations

from . import attention, install, model_class, model_type, options, weight_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...fix import Fix
    from ..context import Context

    Adapter = Callable[[Fix, Context], tuple[Fix | None, str]]

ADAPTERS: tuple[Adapter, ...] = (
    options.adapt, weight_names.adapt, model_class.adapt, model_type.adapt, attention.adapt, install.adapt,
)  # fmt: skip
