"""What a deployment sets so that people can sign in."""

from __future__ import annotations

import ipaddress
import json
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

EVERYBODY = "*"
Groups = frozenset[str]


class RoleSettings(BaseModel):
    """Which groups have which role. Who has none may not come in."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    viewer: Groups = Field(frozenset(), description="groups that post logs and read the history; `*`: all who sign in")
    operator: Groups = Field(frozenset(), description="groups that also judge, acknowledge, mute and assign")
    admin: Groups = Field(frozenset(), description="groups that may do everything")

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        if not (self.viewer or self.operator or self.admin):
            raise ValueError("name the groups that may come in: viewer, operator, admin")
        return self


class OidcSettings(RoleSettings):
    """An OpenID provider that people sign in with."""

    issuer: str = Field(description="its address; `/.well-known/openid-configuration` below it is read")
    client_id: Annotated[str, Field(min_length=1)]
    client_secret: SecretStr
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    name_claim: str = Field("email", description="claim with the person's name; else `sub`")
    groups_claim: str = Field("groups", description="claim with the person's groups")
    tenant_claim: str = Field("", description="claim with the person's tenant; empty: people belong to none")
    session_hours: Annotated[float, Field(gt=0, le=720)] = 12
    provider_logout: bool = Field(default=False, description="signing out ends the session at the provider as well")

    @field_validator("issuer")
    @classmethod
    def _issuer(cls, value: str) -> str:
        parts = urlsplit(value)
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if not parts.hostname or (parts.scheme != "https" and not (local and parts.scheme == "http")):
            raise ValueError("the issuer is an https address")
        if "/.well-known/" in value:
            raise ValueError("the issuer is the address before /.well-known/")
        return value.rstrip("/")

    @property
    def meaning(self) -> str:
        """What a session rests on: another one does not hold where any of this is another."""
        told = self.model_dump(mode="json", exclude={"client_secret", "session_hours", "provider_logout", "scopes"})
        return json.dumps(
            {name: sorted(value) if isinstance(value, list) else value for name, value in sorted(told.items())}
        )

    @field_validator("client_secret")
    @classmethod
    def _secret(cls, value: SecretStr) -> SecretStr:
        # Sessions are signed with a key that is made of it.
        if len(value.get_secret_value()) < 16:
            raise ValueError("a secret has at least 16 characters")
        return value


class ProxySettings(RoleSettings):
    """A proxy in front that signs people in and says in headers who they are."""

    addresses: Annotated[tuple[str, ...], Field(min_length=1)] = Field(
        description="addresses or networks of the proxy; headers of anybody else are not believed"
    )
    user_header: str = "X-Forwarded-User"
    groups_header: str = Field("X-Forwarded-Groups", description="groups, with commas between them")
    tenant_header: str = Field("", description="the person's tenant; empty: people belong to none")

    @field_validator("addresses")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if ipaddress.ip_network(text, strict=False).prefixlen == 0:
                raise ValueError("the whole internet is not a proxy")
        return value

    def speaks(self, peer: str) -> bool:
        """Return whether an address is the proxy's."""
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in ipaddress.ip_network(text, strict=False) for text in self.addresses)
