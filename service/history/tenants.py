"""Whose an incident is. Those without a tenant are everybody's who has none either; a tenant sees its own alone."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, exists

from .tables import incidents, owners

_MARK = "@"


def of_tenant(tenant: str | None) -> Iterable[ColumnElement[bool]]:
    """Return the condition that an incident is a tenant's; none where ``tenant`` is None.

    Args:
        tenant: The tenant, empty for what belongs to none; None for all there is, which is for the operator's own tools.
    """
    if tenant is None:
        return ()
    owned = owners.c.incident == incidents.c.number
    return (exists().where(owned, owners.c.tenant == tenant) if tenant else ~exists().where(owned),)


def kept(fingerprint: str, tenant: str) -> str:
    """Return a fingerprint as it is stored: two tenants with the same failure have an incident each."""
    return f"{fingerprint}{_MARK}{tenant}" if tenant else fingerprint


def shown(fingerprint: str) -> str:
    """Return a stored fingerprint as users see it: the same for the same failure in every tenant."""
    return fingerprint.partition(_MARK)[0]
