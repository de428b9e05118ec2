"""Masks secrets in everything that leaves: tokens, keys, passwords. Placeholders say what stood there."""

from __future__ import annotations

import re

from .lazy import LazyPattern

_NAMES = (
    r"api[_-]?key|(?:auth|hf|hub|access)[_-]?token|secret[_-]?(?:access[_-]?)?key|password|passwd|client[_-]?secret"
)
_NAMED = (
    rf"(?i:(?<![\w-])(?:--[\w-]{{0,60}}?(?:{_NAMES})s?['\"]?(?:\s*[=:]\s*|,?\s+)"
    rf"|[\w-]{{0,60}}?(?:{_NAMES})s?['\"]?\s*[=:]\s*))"
)
_RULES: tuple[tuple[LazyPattern, str], ...] = (
    (LazyPattern(r"\bhf_[A-Za-z0-9]{16,}\b"), "<hf-token>"),
    (LazyPattern(r"\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}\b|\bgithub_pat_\w{20,}\b"), "<github-token>"),
    (LazyPattern(r"\bglpat-[\w-]{18,}"), "<gitlab-token>"),
    (LazyPattern(r"\bxox[abeoprs]-[\w-]{10,}"), "<slack-token>"),
    (LazyPattern(r"\bsk-(?:[a-z]+-)?[A-Za-z0-9_-]{16,}"), "<api-key>"),
    (LazyPattern(r"\b(?:nvapi|wandb|dckr_pat|pypi)-[\w-]{16,}"), "<api-key>"),
    (LazyPattern(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), "<aws-key-id>"),
    (LazyPattern(r"\bAIza[\w-]{30,}"), "<google-key>"),
    (LazyPattern(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"), "<jwt>"),
    (
        LazyPattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", re.DOTALL),
        "<private-key>",
    ),
    (
        LazyPattern(r"(?i)\b(?P<keep>(?:authorization['\"]?\s*[:=]\s*['\"]?)?bearer\s+)[\w.~+/=-]{8,}"),
        r"\g<keep><token>",
    ),
    (
        LazyPattern(r"(?P<keep>[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,80}:)[^\s@/'\"]{1,200}(?=@)"),
        r"\g<keep><password>",
    ),
    # Named values: --api-key X, api_key='X', "password": "X", HF_TOKEN=X. A space separates only after an option:
    # "password is wrong" is a sentence.
    (LazyPattern(rf"(?P<keep>{_NAMED})\[(?!['\"]?<secret>|\])[^\]\n]{{1,2000}}\]"), r"\g<keep>['<secret>']"),
    (
        LazyPattern(rf"(?P<keep>{_NAMED})(?P<quote>['\"])(?!<)(?:(?!(?P=quote)|\n).){{1,2000}}(?P=quote)"),
        r"\g<keep>\g<quote><secret>\g<quote>",
    ),
    # A line that was cut before the closing quote.
    (LazyPattern(rf"(?P<keep>{_NAMED}\[?['\"])(?!<)[^'\"\n]+$"), r"\g<keep><secret>"),
    (
        LazyPattern(rf"(?P<keep>{_NAMED}\[?['\"]?)(?!None\b|null\b|True\b|False\b|<|-)[^\s'\",\[\])}}]{{4,}}"),
        r"\g<keep><secret>",
    ),
    (
        LazyPattern(
            r"(?<![\w-])(?P<keep>[A-Z][A-Z0-9_]{0,60}_(?:TOKEN|SECRET|PASSWORD|PASSWD|ACCESS_KEY|PRIVATE_KEY)=)"
            r"(?P<quote>['\"]?)(?!<)[^\s'\",\])}]{4,}(?P=quote)"
        ),
        r"\g<keep>\g<quote><secret>\g<quote>",
    ),
    (
        LazyPattern(r"(?P<keep>[?&](?:X-Amz-Signature|Signature|sig|token|access_token|key)=)[^&\s'\"]{6,}"),
        r"\g<keep><signature>",
    ),
)
_SECRET_NAME = LazyPattern(r"api_?key|(?:hf|auth|access)_?token|password|secret")
_HINT = LazyPattern(
    r"(?i)hf_|gh[pousr]_|github_pat|glpat|xox|sk-|nvapi|wandb-|dckr_pat|pypi-|AKIA|ASIA|AIza|eyJ|PRIVATE KEY|bearer|"
    r"://[^\s/]*:[^\s/]*@|key|token|secret|passw|[?&]sig|signature"
)


def mask(text: str) -> str:
    """Return ``text`` with its secrets replaced by placeholders."""
    if not _HINT.search(text):
        return text
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


def mask_value(name: str, value: object) -> object:
    """Return a fact's value without secrets: by its name, then by its text; tables are walked."""
    lowered = name.lower()
    if value and not isinstance(value, bool) and _SECRET_NAME.search(lowered):
        return "<secret>"
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: mask_value(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_value("", item) for item in value]
    return value
