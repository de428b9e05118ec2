"""Who is signed in, and what the role of a person allows."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import HTTPConnection

from ..keys import Scope, is_tenant
from .settings import EVERYBODY, ProxySettings, RoleSettings

_log = logging.getLogger("vllm_triage.http")
NAME = 200
"""Characters of a person's name that are kept."""


class Role(StrEnum):
    """What a person may do."""

    VIEWER = "viewer"
    """Post logs, read the history."""
    OPERATOR = "operator"
    """That, and judge answers, acknowledge, mute and assign incidents."""
    ADMIN = "admin"
    """All of it."""


SCOPES: dict[Role, frozenset[Scope]] = {
    Role.VIEWER: frozenset({Scope.TRIAGE, Scope.READ}),
    Role.OPERATOR: frozenset({Scope.TRIAGE, Scope.READ, Scope.FEEDBACK, Scope.OPERATE}),
    Role.ADMIN: frozenset(Scope),
}


class NoEntryError(Exception):
    """Somebody is known, and may not come in; the text says why."""


class ProviderError(Exception):
    """Nobody could be signed in; the text says why, without what was sent."""

    away = False
    """Whether the provider cannot be asked, for now."""


class AwayError(ProviderError):
    """The provider cannot be asked, for now."""

    away = True


@dataclass(frozen=True, slots=True)
class Person:
    """Who is signed in."""

    name: str
    role: Role
    tenant: str = ""

    def allows(self, scope: Scope) -> bool:
        """Return whether the person's role has a scope."""
        return scope in SCOPES[self.role]


def person(name: str, groups: Collection[str], tenant: str, settings: RoleSettings) -> Person:
    """Return the person of that name, with the highest role that the groups give.

    Raises:
        NoEntryError: No group gives a role, or the tenant has a name that none can have.
    """
    mine = {*groups, EVERYBODY}
    if tenant and not is_tenant(tenant):
        raise NoEntryError("the tenant that was told has letters, digits, dots, dashes and underscores, at most 64")
    for role, wanted in (
        (Role.ADMIN, settings.admin),
        (Role.OPERATOR, settings.operator),
        (Role.VIEWER, settings.viewer),
    ):
        if wanted & mine:
            return Person(_shown(name), role, tenant)
    told = sorted(map(_shown, {*groups}))
    _log.warning("nobody was let in: no group gives a role", extra={"person": _shown(name), "groups": told[:20]})
    raise NoEntryError(f"{_shown(name)} is in no group that may come in")


def told_by_proxy(request: HTTPConnection, settings: ProxySettings) -> Person | None:
    """Return the person that the proxy names; None where it names nobody, or where somebody else speaks.

    Raises:
        NoEntryError: The person has no role.
    """
    # As the connection was opened, before X-Forwarded-For was believed.
    if not settings.speaks(request.scope.get("state", {}).get("peer", "")):
        return None
    name = _one(request, settings.user_header)
    if not name:
        return None
    groups = [
        group.strip() for value in request.headers.getlist(settings.groups_header) for group in _utf8(value).split(",")
    ]
    tenant = _one(request, settings.tenant_header) if settings.tenant_header else ""
    if settings.tenant_header and not tenant:
        # Without one they would see what belongs to none.
        raise NoEntryError(f"the proxy sent no {settings.tenant_header}")
    return person(name, groups, tenant, settings)


def _one(request: HTTPConnection, header: str) -> str:
    """Return the value of a header that a proxy sets; one that it was sent as well, and has not removed, is somebody else's."""
    found = request.headers.getlist(header)
    if len(found) > 1:
        raise NoEntryError(f"there are {len(found)} headers {header}: the proxy must remove what it is sent")
    return _utf8(found[0]).strip() if found else ""


def _utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except ValueError:
        return value


def _shown(name: str) -> str:
    return "".join(sign for sign in name if sign.isprintable())[:NAME]
