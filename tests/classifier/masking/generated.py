"""Secrets by generation: names × forms of writing × contexts. Each form is what some program really prints."""

from __future__ import annotations

import itertools
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote


class Case(NamedTuple):
    """A text with a secret in it."""

    name: str
    form: str
    context: str
    text: str
    secret: str


SURE = (
    "api_key", "apikey", "api-key", "apiKey", "API_KEY", "X-Api-Key", "x_api_token", "VLLM_API_KEY", "OPENAI_API_KEY", "hf_token", "HF_TOKEN", "hf-token",
    "HUGGING_FACE_HUB_TOKEN", "hub_token", "access_token", "accessToken", "ACCESS_TOKEN", "auth_token", "authToken", "X-Auth-Token", "refresh_token",
    "session_token", "AWS_SESSION_TOKEN", "bot_token", "SLACK_BOT_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "gitlab_token", "NPM_TOKEN", "private_token",
    "client_secret", "clientSecret", "CLIENT_SECRET", "AZURE_CLIENT_SECRET", "secret", "secret_key", "secretKey", "SECRET_KEY", "aws_secret_access_key",
    "AWS_SECRET_ACCESS_KEY", "secretAccessKey", "s3-secret-key", "MINIO_SECRET_KEY", "access_key", "accessKey", "MINIO_ACCESS_KEY", "password", "Password",
    "PASSWORD", "db_password", "DB_PASSWORD", "POSTGRES_PASSWORD", "passwd", "passphrase", "ssh_passphrase", "redis_pass", "RABBITMQ_DEFAULT_PASS", "PGPASSWORD",
    "private_key", "signing_key", "encryption_key", "ENCRYPTION_KEY", "master_key", "account_key", "AccountKey", "storage_key", "shared_access_key",
    "WANDB_API_KEY", "NGC_API_KEY", "jwt_secret", "JWT_SECRET", "webhook_secret", "SLACK_SIGNING_SECRET", "vault_token", "VAULT_TOKEN", "consul_token",
)  # fmt: skip
"""Names behind which everything is a secret."""
DOUBTFUL = (
    "token",
    "TOKEN",
    "auth",
    "pass",
    "pw",
    "MYSQL_PWD",
    "credential",
    "ACME_MODEL_TOKEN",
    "x-goog-signature",
    "authorization",
    "registry_auth",
    "ACME_KEY",
)
"""Names that mean other things as well: what looks drawn by lot behind them is a secret."""


def _json(name: str, value: str, depth: int, compact: bool) -> str:
    text = json.dumps({"a": 1, name: value}, separators=(",", ":") if compact else (", ", ": "))
    for _ in range(depth):
        text = json.dumps({"b": text}, separators=(",", ":") if compact else (", ", ": "))
    return text


def _option(name: str) -> str:
    return "--" + name.lower().replace("_", "-")


def _both(made: str) -> Callable[[str, str], str]:
    return lambda name, value: made.replace("NAME", name).replace("OPTION", _option(name)).replace("VALUE", value)


FORMS: dict[str, Callable[[str, str], str]] = {
    made: _both(made)
    for made in (
        # Shells and environments.
        "NAME=VALUE", "export NAME=VALUE", "NAME='VALUE' vllm serve", 'NAME="VALUE" vllm serve', '$env:NAME = "VALUE"', "-e NAME=VALUE vllm/vllm-openai", "environ({'A': 'b', 'NAME': 'VALUE'})",
        # Options.
        "vllm serve m OPTION VALUE", "vllm serve m OPTION=VALUE --port 1", "vllm serve m OPTION 'VALUE'", "['serve', 'OPTION', 'VALUE', '--port', '1']", '["serve","OPTION","VALUE","--port","1"]',
        "['serve','OPTION','VALUE']", '["serve", "OPTION=VALUE"]', '{"args":["serve","acme/m","OPTION","VALUE"]}', r'{\"args\":[\"serve\",\"OPTION\",\"VALUE\"]}', r'{\\\"args\\\":[\\\"OPTION\\\",\\\"VALUE\\\"]}',
        # YAML, INI, TOML, properties, Lua, Ruby, Go, HCL.
        "NAME: VALUE", "NAME: 'VALUE'", 'NAME: "VALUE"', "NAME = VALUE", 'NAME = "VALUE"', 'NAME => "VALUE"', 'NAME := "VALUE"', "{a: 1, NAME: VALUE, b: 2}", "{NAME:VALUE,b:2}", "map[NAME:VALUE b:c]",
        "- OPTION\n- VALUE", '- "OPTION"\n- "VALUE"',
        # Tables with name and value, in both orders.
        '{"name":"NAME","value":"VALUE"}', '{"name": "NAME", "value": "VALUE"}', '{"value":"VALUE","name":"NAME"}', '{"value": "VALUE", "name": "NAME"}', r'{\"name\":\"NAME\",\"value\":\"VALUE\"}',
        r'{\"value\":\"VALUE\",\"name\":\"NAME\"}', "{Name:NAME Value:VALUE ValueFrom:nil}", 'v1.EnvVar{Name:"NAME", Value:"VALUE", ValueFrom:nil}', "- name: NAME\n  value: VALUE", '- name: NAME\n  value: "VALUE"',
        "- value: VALUE\n  name: NAME",
        # XML.
        "<NAME>VALUE</NAME>", '<add key="NAME" value="VALUE"/>', "<property name='NAME' value='VALUE' />", '<entry key="NAME">VALUE</entry>', '<add value="VALUE" key="NAME"/>', "&lt;NAME&gt;VALUE&lt;/NAME&gt;",
        "{&quot;NAME&quot;:&quot;VALUE&quot;}",
        # Addresses and forms.
        "https://h.example/x?a=1&NAME=VALUE&b=2", "https://h.example/x?NAME=VALUE", "a=1&NAME=VALUE", "https://h.example/?next=%2Fx%3FNAME%3DVALUE%26b%3D2", "NAME%3DVALUE", "%7B%22NAME%22%3A%22VALUE%22%7D", "q=NAME%253DVALUE",
        # Headers, pairs, dumps.
        "NAME: VALUE\r", "('NAME', 'VALUE')", "(b'NAME', b'VALUE')", '["NAME","VALUE"]', "Headers({'a': 'b', 'NAME': 'VALUE'})", "curl -H 'NAME: VALUE' http://h", "> NAME: VALUE", "NAME='VALUE', b=1)", "Config(NAME=VALUE, b=1)",
        "Config(a=1,NAME='VALUE')", "NAME=b'VALUE'", "NAME=['VALUE']", '"NAME":["VALUE"]', '+    "NAME": "VALUE",', "| NAME | VALUE |",
    )
} | {
    f"JSON within JSON, depth {depth}{', compact' if compact else ''}": lambda name, value, depth=depth, compact=compact: _json(name, value, depth, compact)
    for depth in range(5)
    for compact in (False, True)
}  # fmt: skip
SENTENCES: dict[str, Callable[[str, str], str]] = {
    made: _both(made)
    for made in (
        "NAME is VALUE", "the NAME was VALUE", "NAME VALUE", "invalid NAME: VALUE", "invalid NAME 'VALUE'", 'NAME "VALUE" is not known', "Incorrect NAME provided: VALUE", "setx NAME VALUE", "ENV NAME VALUE", "set -gx NAME VALUE",
        "NAME -> VALUE", "NAME set to VALUE", "using NAME VALUE for it",
    )
}  # fmt: skip
"""Forms in which only a blank or a word parts the two: what looks drawn by lot is a secret."""
APART = (
    "env:\n- name: NAME\n  value: VALUE\n- name: OTHER\n  value: x", '- name: "NAME"\n  value: "VALUE"', "- value: VALUE\n  name: NAME", "- name: NAME\n\n  value: VALUE", "- name: NAME\n  # ours\n  value: VALUE",
    "- name: NAME\n  value: >-\n    VALUE", "- name: NAME\n  valueFrom: null\n  value: VALUE", "NAME: |\n  VALUE", "NAME:\n  VALUE", "NAME =\n  VALUE",
    '"env": [\n  {\n    "name": "NAME",\n    "value": "VALUE"\n  }\n]', '{\n  "value": "VALUE",\n  "name": "NAME"\n}', '{\n  "Key": "NAME",\n  "Value": "VALUE"\n}', 'env {\n  name  = "NAME"\n  value = "VALUE"\n}',
    "<name>NAME</name>\n<value>VALUE</value>", "Environment:\n  NAME:  VALUE\n  OTHER:  x", "environment:\n  - NAME=VALUE", '"Env": [\n  "NAME=VALUE",\n  "PATH=/usr/bin"\n]', "args:\n- serve\n- OPTION\n- VALUE",
    'args:\n- "OPTION"\n- "VALUE"', '"args": [\n  "serve",\n  "OPTION",\n  "VALUE"\n]', "vllm serve m \\\n  OPTION \\\n  VALUE \\\n  --port 1",
)  # fmt: skip
"""Forms over several lines: what kubectl, docker and compose print, and what people write."""
BEFORE_LINES = (
    "", "2026-01-02T03:04:05.678901234Z stderr F ", "vllm-1  | ", "[pod/vllm-0/vllm] ", "Nov 02 09:15:01 host vllm[77]: ",
    "(EngineCore_DP0 pid=12) ERROR 10-25 13:08:43 [core.py:708] ",
)  # fmt: skip
CONTEXTS = (
    "{}", "ValueError: no way on: {}", "acme.OperatorError: pod rejected: {} (see above)", "vllm-1  | 2026-01-02T03:04:05.678901234Z stderr F {}",
    "(EngineCore_DP0 pid=12) ERROR 10-25 13:08:43 [core.py:708] {}", "RuntimeError('{}')", 'RuntimeError("{}")', "level=error msg={} caller=main.go:12", "> {}", "`{}`", "\x1b[31m{}\x1b[0m", "a=1, {}; b=2",
)  # fmt: skip


def drawn(rng: random.Random, name: str) -> str:
    """Return a secret as generators of them make it: letters and digits, base64, hexadecimal, a UUID."""
    kind = rng.randrange(5)
    if kind == 0:
        return f"{rng.getrandbits(160):040x}"
    if kind == 1:
        return (
            "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=40)).replace("//", "a/").strip("+/")
            + "7Q="
        )
    if kind == 2 and not name.upper().endswith("KEY"):
        digits = f"{rng.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return "".join(rng.choices(string.ascii_letters + string.digits, k=rng.choice((20, 22, 32, 43))))


def chosen(rng: random.Random) -> str:
    """Return a password as people choose it."""
    return rng.choice(
        ("hunter2", "Sommer2026", "correct-horse-battery", "qwertz", "s3cr3t!", "Pa55word", "letmein99", "geheim")
    ) + rng.choice(("", "x7", "!"))


def cases(seed: int = 1) -> Iterator[Case]:
    """Yield all of them, each with a secret of its own."""
    rng = random.Random(seed)
    pairs = [(name, form, FORMS[form], name in SURE) for name in (*SURE, *DOUBTFUL) for form in FORMS]
    pairs += [(name, form, SENTENCES[form], False) for name in (*SURE, *DOUBTFUL) for form in SENTENCES]
    for name, form, make, sure in pairs:
        for context in CONTEXTS:
            if skipped(name, form):
                continue
            secret = chosen(rng) if sure and rng.random() < 0.3 else drawn(rng, name)
            told = quote(secret, safe="") if "%" in form else secret
            yield Case(name, form, context, context.replace("{}", make(name, told)), told)


def logs_apart() -> Iterator[tuple[str, str]]:
    """Yield logs in which a name and its value stand on lines of their own, beside a failure; and the secret."""
    rng = random.Random(3)
    failure = "ValueError: No available memory for the cache blocks."
    for made, before, name in itertools.product(APART, BEFORE_LINES, ("HF_TOKEN", "DB_PASSWORD")):
        secret = drawn(rng, name) if name == "HF_TOKEN" else "hunter2hunter"
        text = _both(made)(name, secret)
        far = [f"INFO 01-02 03:04:05 [x.py:{at}] step {at} of many" for at in range(60)]
        above, below = rng.choice((([failure], []), ([], [failure]), ([failure, *far], far), (far, [failure, *far])))
        lines = [*above, *text.split("\n"), *below]
        yield "\n".join(["INFO vLLM API server version 0.19.1", *(before + line for line in lines), ""]), secret


def skipped(name: str, form: str) -> bool:
    """Return whether nobody writes a name in this form."""
    return ("OPTION" in form and name in DOUBTFUL and name != "token") or (name == "ACME_KEY" and "->" in form)
