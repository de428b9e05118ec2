"""The chat platforms there are: the modules of ``platforms/``. Whatever lists platforms asks here."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol, cast

from . import platforms as modules
from .settings import ChatSettings, PlatformSettings

if TYPE_CHECKING:
    from .interface import Adapter, Event


class Platform(Protocol):
    """A platform. Its module has the name of the setting that turns it on; importing it needs no package of an extra."""

    SETTINGS: type[PlatformSettings]
    """What may be set for it."""
    ABOUT: str
    """What it is, in a few words."""
    SEVERAL: bool
    """Whether there may be several of it: the setting is a list then, and ``adapter`` is given a tuple. (A platform whose extra
    does not bear its name says so by ``EXTRA``.)"""

    def adapter(self, settings: Any) -> Adapter:
        """Return the adapter for what is set."""
        ...

    def preview(self, event: Event) -> str:
        """Return what would be sent about an event; a platform that only takes alerts in has none."""
        ...


@cache
def platforms() -> dict[str, Platform]:
    """Return all platforms by name, sorted."""
    found = sorted(module.name for module in iter_modules(modules.__path__))
    return {name: cast("Platform", import_module(f".{name}", modules.__name__)) for name in found}


def fields() -> dict[str, tuple[Any, Any]]:
    """Return the settings that turn platforms on, by name: type and default, as ``pydantic.create_model`` takes them."""
    return {
        name: (tuple[platform.SETTINGS, ...], ()) if platform.SEVERAL else (platform.SETTINGS | None, None)  # type: ignore[name-defined]
        for name, platform in platforms().items()
    }


def adapters(settings: ChatSettings) -> list[Adapter]:
    """Return the adapters of the platforms that are configured.

    Raises:
        KeyError: One is set that there is not.
        ValueError: What one of them needs is not installed.
    """
    known = platforms()
    return [_adapter(name, known[name], given) for name, given in settings.platforms.items() if given]


def _adapter(name: str, platform: Platform, given: Any) -> Adapter:
    try:
        return platform.adapter(given)
    except ModuleNotFoundError as error:
        extra = getattr(platform, "EXTRA", name)
        from ...classifier.extras import install

        raise ValueError(f"{name} needs {error.name}: {install(extra)}") from None
