"""Secrets by their place: in headers, addresses, commands, keys over several lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..patterns.lazy import LazyPattern

_Replacement = str | Callable[["re.Match[str]"], str]
_BASE64 = r"[A-Za-z0-9+/]"
QUOTE = r"(?:\\{0,31}(?:['\"`]|u002[27])|&quot;|&apos;|&#3[49];|%(?:25){0,3}2[27])"
"""A quotation mark, however often it was escaped: for a shell, JSON within JSON, XML, an address."""


def _all_values(found: re.Match[str]) -> str:
    """Mask the values of an option that takes several, up to the next option: paths and prose after the first stay."""
    if found["next"] is None:
        words = [
            word if "/" in word or not any(map(str.isdigit, word)) else "<secret>" for word in found["rest"].split()
        ]
        return " ".join([found["keep"] + found["first"], *words])
    words = [word if "/" in word else "<secret>" for word in found["rest"].split()]
    return " ".join([found["keep"] + "<secret>", *words]) + found["next"]


_HEADER = rf"(?:{QUOTE})?[ \t]*[:=,][ \t]*b?(?:{QUOTE})?"
PLACES: tuple[tuple[tuple[str, ...], LazyPattern[str], _Replacement], ...] = (
    (
        ("hooks.slack", "api/webhooks/", "webhookb2/"),
        LazyPattern(
            r"(?P<keep>hooks.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/|\.office\.com/webhookb2/)[\w@/+-]{6,}"
        ),
        r"\g<keep><webhook>",
    ),
    # The token of a bot is also told without the word before it.
    (("api.telegram", "bot", ":aa"), LazyPattern(r"\b(?P<keep>(?:bot)?)\d{6,12}:AA[\w-]{30,}"), r"\g<keep><telegram-token>"),
    # A number in base64, a time, a signature. Nothing in it is always the same, so that a word beside it must lead there.
    (("discord", "bot "), LazyPattern(r"\b[MNO][A-Za-z\d][\w-]{22,26}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"), "<discord-token>"),
    (
        ("private key",),
        LazyPattern(
            r"(?i)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)", re.DOTALL
        ),
        "<private-key>",
    ),
    (
        ("key-data",),
        LazyPattern(rf"(?P<keep>\bkey-data(?:{QUOTE})?[ \t]*[:=][ \t]*(?:{QUOTE})?){_BASE64}{{16,}}={{0,2}}"),
        r"\g<keep><private-key>",
    ),
    (
        ("authorization",),
        LazyPattern(
            rf"(?i)(?P<keep>authorization{_HEADER}(?:basic|bearer|digest|token|negotiate|ntlm|api-?key)[ \t]+)(?!<)[^\s'\"\\]{{4,}}|"
            rf"(?P<bare>authorization{_HEADER})(?=[^\s'\"\\]{{0,80}}\d)[^\s'\"\\<]{{12,}}"
        ),
        lambda found: (found["keep"] or found["bare"]) + "<token>",
    ),
    (
        ("bearer",),
        LazyPattern(
            r"(?i:\b(?P<keep>bearer(?:[ \t]+|%20|\+)))(?i:(?!auth|token|scheme|realm|header|format|credential|required|missing|expected|invalid))[\w.~+/=-]{8,}"
        ),
        r"\g<keep><token>",
    ),
    (
        ("basic",),
        LazyPattern(rf"(?i:\b(?P<keep>basic[ \t]+))(?={_BASE64}{{0,200}}[0-9=]){_BASE64}{{12,}}={{0,2}}"),
        r"\g<keep><token>",
    ),
    (
        ("cookie", "_session="),
        LazyPattern(
            rf"(?i)(?P<keep>(?<![\w-])(?:set-|x-)?cookie{_HEADER}|(?=\b_[a-z]{{1,20}}_session=))"
            r"[^\s;=,'\"\\<]{1,200}=[^\s;,'\"\\]{0,4096}(?:;[ \t]?[^\s;,'\"\\]{1,4096}){0,64}"
        ),
        r"\g<keep><cookie>",
    ),
    (
        ("://",),
        # A port and a path that an at sign follows are no password.
        LazyPattern(r"(?P<keep>://[^\s:/@'\"<>]{0,80}:)(?!\d{1,5}(?:[/?#,]|$)|<)[^\s'\"]{1,300}(?=@)"),
        r"\g<keep><password>",
    ),
    (("://",), LazyPattern(r"(?P<keep>://)[\w.~%+-]{16,400}(?=(?::[^\s/@'\"]{0,200})?@)"), r"\g<keep><token>"),
    # Commands that take a password without a name, or right behind an option of one letter.
    (
        ("curl",),
        LazyPattern(
            r"(?P<keep>(?i:\bcurl)\b[^\n|]{0,300}?[ \t](?:-u|--user)[ =]?['\"]?[^\s:'\"]{0,80}:)(?!<)[^\s'\"]{1,200}"
        ),
        r"\g<keep><password>",
    ),
    (
        ("sshpass", "login", "mysql", "mariadb", "psql", "redis-cli", "htpasswd", "ldap", "mongo"),
        LazyPattern(
            r"(?P<keep>\b(?:sshpass|(?:docker|podman|helm|az|oc|nerdctl|skopeo|crane|buildah|registry|ldapsearch|htpasswd|redis-cli|mongo(?:sh)?|mysql\w*|mariadb\w*"
            r")\b[^\n|;&]{0,200}?)[ \t]-{1,2}(?:p|a|w|password)(?:[ \t=]*['\"]?))(?![<-])[^\s'\"]{1,200}"
        ),
        r"\g<keep><password>",
    ),
    (("login",), LazyPattern(r"(?P<keep>\blogin[ \t]+\S{1,80}[ \t]+password[ \t]+)(?!<)\S{1,200}"), r"\g<keep><password>"),
    (
        (" alias set", " config host add"),
        LazyPattern(r"(?P<keep>\bmc (?:alias set|config host add) \S{1,80} \S{1,200} )(?!<)\S{1,200} \S{1,200}"),
        r"\g<keep><key> <secret>",
    ),
    (('"auth',), LazyPattern(rf"(?P<keep>\"auth\\?\"[ \t]*:[ \t]*\\?\"){_BASE64}{{8,}}={{0,2}}"), r"\g<keep><token>"),
    # Further values of an option that takes several.
    (
        ("key", "token"),
        LazyPattern(
            r"(?P<keep>--api-keys?[= ])(?P<first>(?!-)\S{1,400})(?P<rest>(?:[ \t]+(?![-|&;<>\\])[^\s|&;<>'\"]{1,400}){1,20})(?P<next>[ \t]+--?[a-z])?"
        ),
        _all_values,
    ),
    (
        ("key",),
        LazyPattern(
            r"(?P<keep>--api-keys?(?P<quote>\\{0,31}['\"]),[ \t]*(?P=quote)[^'\"\n\\]{1,400}(?P=quote))"
            r"(?:,[ \t]*(?P=quote)(?![-<])[^'\"\n\\]{1,400}(?P=quote)){1,20}"
        ),
        r"\g<keep>, \g<quote><secret>\g<quote>",
    ),
    (
        ("?", "&", "amp;"),
        LazyPattern(
            r"(?P<keep>(?:[?&]|&amp;|\\u0026)(?i:X-(?:Amz|Goog)-(?:Signature|Security-Token|Credential)|Signature|sig|(?:[a-z]{1,20}_)?token|"
            r"(?:api_?|subscription-|client_)?key|password|passwd|pwd|secret|client_secret|auth|Policy|AWSAccessKeyId|Key-Pair-Id)=)(?!<)[^&\s'\"<>\\]{6,}"
        ),
        r"\g<keep><signature>",
    ),
)  # fmt: skip
"""Words in small letters, of which one stands in every text that the expression finds; the expression; what is shown instead."""
KEY_WIDTH = 64
"""Characters of a word from which on it may be a line from within a key."""
KEY_LINE = LazyPattern(
    rf"(?:(?<![\w+/=.-])|(?<=\\n))(?={_BASE64}{{0,60}}?[0-9])(?={_BASE64}{{0,60}}?[A-Z])(?={_BASE64}{{0,60}}?[a-z])"
    rf"(?:{_BASE64}{{64}}|{_BASE64}{{70}}|{_BASE64}{{76}})(?![\w+/-])"
)
"""A line from within a key is as long as the lines of key files are."""
