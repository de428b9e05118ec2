"""API keys: made at random, kept as hashes, compared in constant time.

A key holds 256 random bits, so nobody finds it by trying, whatever the hash; SHA-256 is enough to keep it from being read
where the settings lie, and costs nothing on each request. Slow hashes (scrypt, argon2) are for what people think up.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

PREFIX = "vtk_"
"""Keys can be recognised by it: by people, and by scanners for leaked secrets."""
_METHOD = "sha256="
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Scope(StrEnum):
    """What a key allows."""

    TRIAGE = "triage"
    """Post logs."""
    READ = "read"
    """See the history."""
    FEEDBACK = "feedback"
    """Say whether answers were right."""
    OPERATE = "operate"
    """Acknowledge, mute and assign incidents."""
    ADMIN = "admin"
    """All of it, and remove incidents and export feedback."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the settings know it."""

    name: str
    scopes: frozenset[Scope]
    digest: str
    tenant: str = ""
    """Whose incidents it writes and sees; empty for those of nobody in particular."""

    def allows(self, scope: Scope) -> bool:
        """Return whether the key has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


def make_key(name: str, scopes: Iterable[str], tenant: str = "") -> tuple[str, str]:
    """Return a new key and the line for the settings, which does not tell it.

    Args:
        name: Of the key.
        scopes: What it allows.
        tenant: Whose it is; empty for nobody's in particular.

    Raises:
        ValueError: The name, the tenant or a scope cannot be used.
    """
    key = PREFIX + secrets.token_urlsafe(32)
    line = f"{name}{f'@{tenant}' if tenant else ''}:{'+'.join(dict.fromkeys(scopes))}:{_METHOD}{_digest(key)}"
    read_key(line)
    return key, line


def read_key(line: str) -> Key:
    """Read a line of the settings: ``NAME:SCOPE+SCOPE:sha256=HEX``, or ``NAME@TENANT:…``.

    Raises:
        ValueError: It is none; the message does not repeat it, it may be the key itself.
    """
    name, _, rest = line.strip().partition(":")
    scopes, _, digest = rest.partition(":")
    name, mark, tenant = name.partition("@")
    if not _NAME.fullmatch(name) or (mark and not is_tenant(tenant)):
        raise ValueError("names of keys and tenants have letters, digits, dots, dashes and underscores, at most 64")
    if strange := [scope for scope in scopes.split("+") if scope not in set(Scope)]:
        raise ValueError(f"key {name}: no scope {strange[0]!r} (there are {', '.join(Scope)})")
    if not re.fullmatch(rf"{_METHOD}[0-9a-f]{{64}}", digest):
        raise ValueError(f"key {name}: give the line that `vllm-triage serve --make-key {name}` prints, not the key")
    return Key(name, frozenset(map(Scope, scopes.split("+"))), digest.removeprefix(_METHOD), tenant)


def is_tenant(text: str) -> bool:
    """Return whether a text can be the name of a tenant."""
    return _NAME.fullmatch(text) is not None


def find_key(keys: Iterable[Key], given: str) -> Key | None:
    """Return the key that was given, or None. Looks at all of them, each in constant time."""
    digest = _digest(given)
    found = None
    for key in keys:
        if hmac.compare_digest(key.digest, digest):
            found = key
    return found


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
