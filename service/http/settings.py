"""What a deployment may set: by variables ``VLLM_TRIAGE_…``, by a TOML file, by options of ``vllm-triage serve``."""

from __future__ import annotations

import difflib
import ipaddress
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, create_model, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from ..chat.registry import fields, platforms
from ..chat.settings import ChatSettings, NotifySettings
from .keys import Key, read_key
from .sign_in.settings import OidcSettings, ProxySettings

PREFIX = "VLLM_TRIAGE_"
CONFIG = f"{PREFIX}CONFIG"
"""Names the TOML file."""
OTHERS = ("config",)
"""Variables that are no settings."""
STATELESS = "none"
"""The ``database`` that is none."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")

Words = Annotated[tuple[str, ...], NoDecode]
Count = Annotated[int, Field(ge=1)]


class ServiceSettings(BaseSettings):
    """All settings but those of the chat platforms."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    host: str = Field("127.0.0.1", description="address to listen on")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(8501, description="port; 0 takes a free one")
    socket: Path | None = Field(
        None, description="Unix socket to listen on instead, for its owner alone (mode 0600); no key is needed then"
    )
    workers: Annotated[int, Field(ge=1, le=256)] = Field(1, description="processes that serve")
    root_path: str = Field("", description="path under which a proxy shows the service")
    forwarded_allow_ips: str = Field(
        "127.0.0.1", description="proxies whose X-Forwarded-For and -Proto are believed: addresses, networks, or *"
    )
    public_url: str = Field("", description="where people reach the service; for links in messages")
    allowed_hosts: Words = Field(
        (), description="Host headers that are answered; empty: all, but only local names where no key is needed"
    )

    database: str = Field("", description="SQLAlchemy URL of the history; empty: a SQLite file, none: no history")
    retention_days: Annotated[int, Field(ge=0)] = Field(90, description="incidents not seen for so long go; 0: never")
    most_incidents: Annotated[int, Field(ge=0)] = Field(
        50_000, description="above so many the ones seen longest ago go; 0: no limit"
    )
    power_safe: bool = Field(
        False, description="SQLite waits for the disk, so that a power cut loses nothing that was answered; slower"
    )

    max_body: Count = Field(2 << 30, description="bytes of a request")
    max_decompressed: Count = Field(4 << 30, description="bytes of a log after unpacking")
    max_json: Count = Field(8 << 20, description="bytes of a JSON body, which is held in memory as a whole")
    max_lines: Count = Field(100_000_000, description="lines of a log")
    max_batch: Count = Field(100, description="logs of one batch")
    request_seconds: Annotated[float, Field(gt=0)] = Field(600, description="wall-clock time of one request")
    head_seconds: Annotated[float, Field(gt=0)] = Field(
        15, description="from the opening of a connection to the end of a request's head"
    )
    idle_seconds: Annotated[float, Field(gt=0)] = Field(
        60, description="a body may pause for so long, and an answer wait to be read"
    )
    body_rate: Annotated[int, Field(ge=0)] = Field(
        500,
        description="bytes a second that a body comes with on average, after `idle_seconds`; 0: any. Streams are free of it",
    )
    body_memory: Count = Field(
        40 << 20, description="bytes that each worker keeps of all bodies together; beyond, silent ones are given up"
    )
    stream_seconds: Annotated[float, Field(gt=0)] = Field(
        3600, description="a streamed log is taken to end after so long"
    )
    concurrency: Count = Field(
        4, description="large logs that each worker has under way at once, each in its own process"
    )
    large_queue: Annotated[int, Field(ge=0)] = Field(
        16, description="large logs that may wait for such a process; more are refused with 503"
    )
    watchers: Annotated[int, Field(ge=0)] = Field(
        16,
        description="streams that each worker has under way at once, sixteen to a process; more are refused with 503",
    )
    queue: Count = Field(128, description="small logs that may wait in each worker; more are refused with 503")
    small: Annotated[int, Field(ge=0)] = Field(256 << 10, description="logs up to so many bytes need no process")
    rate_limit: Annotated[int, Field(ge=0)] = Field(
        600, description="requests a minute for each key or address, in each worker; 0: no limit"
    )
    drain_seconds: Annotated[float, Field(ge=0)] = Field(
        0, description="after SIGTERM /readyz says no for so long before the listening ends"
    )
    shutdown_seconds: Annotated[int, Field(ge=0)] = Field(30, description="given to requests under way at shutdown")

    collect: bool = Field(
        False, description="take logs from collectors (Loki's push API, OTLP, JSON); needs workers = 1"
    )
    collect_streams: Count = Field(
        2000, description="streams (starts of containers) at once; the one silent for longest makes room"
    )
    collect_memory: Count = Field(
        16 << 20, description="bytes of streams that may wait to be read; more are refused with 503"
    )

    api_keys: Words = Field((), description="hashed keys as `vllm-triage serve --make-key` prints them")
    api_keys_file: Path | None = Field(None, description="file with such keys, one a line")
    require_key: Literal["auto", "yes", "no", "link"] = Field(
        "auto",
        description="auto: where keys are set, or the address is not this machine's own; link: a key is made at every start, "
        "and the link that is printed holds it",
    )
    link_key: str = Field("", description="set by `serve --require-key link` for its workers: the hash of that key")
    oidc: OidcSettings | None = Field(None, description="an OpenID provider that people sign in with (see Sign-in)")
    proxy: ProxySettings | None = Field(None, description="a proxy in front that says who people are (see Sign-in)")
    cors_origins: Words = Field((), description="origins of web pages that may call the API")
    metrics: bool = Field(True, description="serve /metrics (figures only, no key needed)")
    docs: bool = Field(True, description="serve /docs and /openapi.json")
    web: bool = Field(True, description="serve the web page")

    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="`info` has a line for each request"
    )
    log_format: Literal["json", "text"] = Field("json", description="one object a line, or text")
    otel_endpoint: str = Field("", description="OTLP/HTTP endpoint for traces; empty: none")
    ask: str = Field(
        "", description="OpenAI-compatible endpoint that is asked for a second opinion (docs/ask.md); empty: none"
    )
    ask_model: str = Field("", description="its model; empty: the first that it lists")
    ask_key: SecretStr = Field(SecretStr(""), description="its key")
    ask_when: Literal["auto", "always", "never"] = Field(
        "auto", description="auto: about failures whose first fix is not sure; a request may say otherwise"
    )
    ask_per_hour: Count = Field(60, description="questions an hour, of each worker")
    rules: Words = Field((), description="folders with your own rule files")
    model: str = Field("", description="folder of your own text model, as vllm-triage train makes it")

    notify: NotifySettings = NotifySettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic-settings' own signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take arguments, then variables, then the TOML file that ``VLLM_TRIAGE_CONFIG`` names."""
        _refuse_misspelt(os.environ, settings_cls.model_fields)
        sources = [init_settings, env_settings]
        if path := os.environ.get(CONFIG, ""):
            sources.append(_File(settings_cls, Path(path)))
        return tuple(sources)

    @field_validator("allowed_hosts", "api_keys", "cors_origins", "rules", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        """Take a list as JSON, or as words with blanks or commas between them."""
        if not isinstance(value, str):
            return value
        if value.lstrip().startswith("["):
            return json.loads(value)
        return value.replace(",", " ").split()

    @field_validator("require_key", mode="before")
    @classmethod
    def _spoken(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return {"true": "yes", "1": "yes", "false": "no", "0": "no"}.get(value, value)

    @field_validator("root_path", "public_url")
    @classmethod
    def _no_slash(cls, value: str) -> str:
        return value.rstrip("/")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for line in self._key_lines():
            read_key(line)
        if self.collect and self.workers > 1:
            raise ValueError("collect needs workers = 1: the lines of a stream must reach one process")
        if self.small > self.max_json:
            raise ValueError("small must not be larger than max_json")
        if self.oidc is not None and not self.public_url:
            raise ValueError("oidc needs public_url: the provider sends people back there")
        address = urlsplit(self.public_url)
        if self.public_url and not (address.scheme in ("http", "https") and address.hostname):
            raise ValueError("public_url is an address with https:// or http://")
        if self.needs_key and not (self._key_lines() or self.people) and self.require_key != "link":
            raise ValueError(
                f"listening on {self.host} needs API keys (vllm-triage serve --make-key NAME); "
                "set require_key = no to let in whoever reaches the port"
            )
        return self

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys that are accepted."""
        return tuple(read_key(line) for line in self._key_lines())

    def _key_lines(self) -> list[str]:
        lines = [*self.api_keys, *([self.link_key] if self.link_key else [])]
        if self.api_keys_file is not None:
            try:
                text = self.api_keys_file.read_text("utf-8")
            except OSError as error:
                raise ValueError(f"api_keys_file cannot be read: {error.strerror}") from None
            lines += [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
        return lines

    @property
    def local(self) -> bool:
        """Whether only programs of this machine reach it."""
        if self.socket is not None:
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def needs_key(self) -> bool:
        """Whether requests must bring a key."""
        if self.require_key == "auto":
            return bool(self.api_keys or self.api_keys_file or self.people) or not self.local
        return self.require_key in ("yes", "link")

    @property
    def people(self) -> bool:
        """Whether people sign in."""
        return self.oidc is not None or self.proxy is not None

    @property
    def strictly_local(self) -> bool:
        """Whether whoever is of this machine is answered without a key, and nobody else is."""
        return self.local and not self.needs_key and self.require_key == "auto"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host headers that are answered; empty means all.

        Without keys a name that a stranger's DNS points to this machine must not open it to pages in the browser.
        """
        if self.allowed_hosts or self.needs_key or not self.local:
            return () if "*" in self.allowed_hosts else self.allowed_hosts
        public = urlsplit(self.public_url).hostname
        return (*LOCAL_HOSTS, self.host, *([public] if public else []))

    @property
    def database_url(self) -> str:
        """The URL of the history; empty in stateless mode."""
        if self.database == STATELESS:
            return ""
        return self.database or f"sqlite:///{state_folder() / 'history.sqlite'}"

    @property
    def chat(self) -> ChatSettings:
        """What is set for chat-ops."""
        given = {name: value for name in platforms() if (value := getattr(self, name))}
        return ChatSettings(platforms=given, notify=self.notify)


if TYPE_CHECKING:

    class Settings(ServiceSettings):
        """All settings of the service. Variables go before the file; what neither names has the default given here."""

else:
    # Each platform brings its own.
    Settings = create_model("Settings", __base__=ServiceSettings, __module__=__name__, **fields())


class _File(TomlConfigSettingsSource):
    """The TOML file. A name that is not a setting is an error there: a limit that is misspelt would go unnoticed."""

    def __init__(self, settings_cls: type[BaseSettings], path: Path) -> None:
        if not path.is_file():
            raise ValueError(f"{path}: no such settings file")
        try:
            super().__init__(settings_cls, path)
        except OSError as error:
            raise ValueError(f"{path}: the settings file cannot be read: {error.strerror}") from None
        except ValueError as error:
            # What is no TOML, or no UTF-8; the message has the place, not the line.
            raise ValueError(f"{path}: {error}") from None
        if strange := sorted(set(self.toml_data) - set(settings_cls.model_fields)):
            raise ValueError(f"{path}: {strange[0]!r} is not a setting")


def _refuse_misspelt(variables: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a variable whose name is all but that of a setting. Others with our prefix may be somebody else's.

    Kubernetes sets some for every service of that name: ``VLLM_TRIAGE_SERVICE_HOST``.
    """
    names = [*known, *OTHERS]
    for variable in variables:
        if not variable.startswith(PREFIX):
            continue
        name = variable.removeprefix(PREFIX).partition("__")[0].lower()
        if name not in names and (near := difflib.get_close_matches(name, names, 1, 0.8)):
            raise ValueError(f"{variable} is not a setting: did you mean {PREFIX}{near[0].upper()}?")


def state_folder() -> Path:
    """Return the user's folder for what programs keep."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "vllm-triage"
