"""Each kind of secret by its shape or its place: masked at the length that it has, left where it is too short to be one."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.masking.mask import mask, mask_lines, mask_value, secret_words

L = "Abcdefghi1" * 9
"""Letters and digits as keys have them, in an order that does not look drawn by lot."""
HEX = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("begin", "least", "placeholder"),
    [
        ("hf_", 16, "<hf-token>"), ("api_org_", 16, "<hf-token>"),
        *[(begin, 20, "<github-token>") for begin in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_")],
        *[(f"gl{kind}-", 18, "<gitlab-token>") for kind in ("pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "agent", "imt")], ("GR1348941", 18, "<gitlab-token>"),
        ("xoxb-", 8, "<slack-token>"), ("xoxe.xoxp-", 8, "<slack-token>"), ("xapp-", 8, "<slack-token>"),
        ("sk-", 16, "<api-key>"), ("csk-", 16, "<api-key>"),
        *[(begin, 16, "<api-key>") for begin in ("nvapi-", "wandb-", "dckr_pat-", "pypi-", "xai-", "pplx-", "NRAK-", "PMAK-", "tskey-", "dckr_pat_", "dckr_oat_")],
        ("glsa_", 20, "<api-key>"),
        *[(begin, 20, "<api-key>") for begin in (
            "npm_", "gsk_", "r8_", "fw_", "rpa_", "jina_", "pcsk_", "sbp_", "lin_api_", "ntn_", "tgp_v1_", "lsv2_pt_", "dop_v1_", "doo_v1_", "shpat_",
            "shpca_", "shppa_", "shpss_", "sntrys_", "sntryu_", "ATATT3", "whsec_", "hvs.", "hvb.",
        )],
        *[(begin, 10, "<api-key>") for begin in ("sk_live_", "sk_test_", "rk_live_", "rk_test_")],
        ("AIza", 30, "<google-key>"), ("ya29.", 16, "<google-key>"), ("GOCSPX-", 16, "<google-key>"), ("AQ.Ab", 30, "<google-key>"),
        *[(begin, 40, "<aws-token>") for begin in ("FwoGZXIvYXdz", "FQoGZXIvYXdz", "IQoJb3JpZ2lu", "ABSK")],
        ("MIIE", 36, "<private-key>"), ("b3BlbnNzaC1r", 36, "<private-key>"), ("abc8Q~", 30, "<azure-secret>"),
    ],
)  # fmt: skip
def test_keys_by_their_beginning(begin: str, least: int, placeholder: str) -> None:
    """As long as they are at least; what is shorter is a word."""
    assert mask(f"with {begin}{L[:least]} it") == f"with {placeholder} it"
    assert mask(f"with {begin}{L[: least - 1]} it") == f"with {begin}{L[: least - 1]} it"


@pytest.mark.parametrize(
    ("secret", "placeholder"),
    [
        *[(f"{begin}ABCDEFGH12345678", "<aws-key-id>") for begin in ("AKIA", "ASIA", "ABIA", "ACCA")],
        (f"dapi{HEX}", "<api-key>"), (f"key-{HEX}", "<api-key>"), ("ms-01234567-89ab-cdef-0123-456789abcdef", "<api-key>"), (f"SG.{L[:16]}.{L[:16]}", "<api-key>"),
        ("AGE-SECRET-KEY-1ABCDEFGHIJ0123456789", "<api-key>"), (f"sk-proj-{L[:16]}", "<api-key>"), (f"tskey-auth-{L[:16]}", "<api-key>"), (f"123456:AA{L[:30]} of a bot", "<telegram-token> of a bot"), (f"bot123456:AA{L[:30]}", "bot<telegram-token>"),
        (f"eyJ{L[:8]}.eyJ{L[:8]}", "<jwt>"), (f"eyJ{L[:8]}.eyJ{L[:8]}.{L[:9]}", "<jwt>"), (f"eyJ{L[:8]}..{L[:16]}.{L[:5]}", "<jwt>"), (f"glc_eyJ{L[:8]}.eyJ{L[:8]}", "<jwt>"),
        (f"https://hooks.slack.com/services/{L[:6]}", "https://hooks.slack.com/services/<webhook>"), (f"hooks.slack-gov.com/workflows/{L[:6]}", "hooks.slack-gov.com/workflows/<webhook>"),
        (f"hooks.slack.com/triggers/{L[:6]}", "hooks.slack.com/triggers/<webhook>"), (f"discord.com/api/webhooks/{L[:6]}", "discord.com/api/webhooks/<webhook>"),
        (f"discordapp.com/api/webhooks/{L[:6]}", "discordapp.com/api/webhooks/<webhook>"), (f"x.office.com/webhookb2/{L[:6]}", "x.office.com/webhookb2/<webhook>"),
    ],
)  # fmt: skip
def test_keys_of_a_fixed_shape(secret: str, placeholder: str) -> None:
    """Whole."""
    assert mask(f"with {secret} it") == f"with {placeholder} it"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abcd", "Authorization: Bearer <token>"), ("'authorization': 'Basic abcd'", "'authorization': 'Basic <token>'"),
        *[(f"authorization={kind} abcd", f"authorization={kind} <token>") for kind in ("digest", "token", "negotiate", "ntlm", "apikey", "api-key")],
        ("authorization: abcdefgh1234", "authorization: <token>"), ("authorization: required", "authorization: required"),
        ("bearer abcdefgh", "bearer <token>"),
        *[(f"bearer {word}abcdefgh", f"bearer {word}abcdefgh") for word in
          ("auth", "token", "scheme", "realm", "header", "format", "credential", "required", "missing", "expected", "invalid")],
        ("Basic abcdefghijk1", "Basic <token>"), ("basic abcdefghijkl", "basic abcdefghijkl"), ("Basic abcdefghijkl=", "Basic <token>"),
        ("Cookie: a=b; c=d", "Cookie: <cookie>"), ("set-cookie: a=b", "set-cookie: <cookie>"),
        ("http://me:pass@host", "http://me:<password>@host"), ("http://host:8000/a@b", "http://host:8000/a@b"), ("git://abcdefghijklmnop@host", "git://<token>@host"),
        ("git://abcdefghijklmno@host", "git://abcdefghijklmno@host"),
        ("curl -u me:pw x", "curl -u me:<password> x"), ("curl --user 'me:pw' x", "curl --user 'me:<password>' x"), ("sshpass -p pw ssh", "sshpass -p <password> ssh"),
        ("machine x login me password pw", "machine x login me password <password>"), ('"auth": "YWJjZGVmZ2g="', '"auth": "<token>"'),
        ("--api-key abcd1234 efgh5678 --port 1", "--api-key <secret> <secret> --port 1"), ("['--api-key', 'abcd', 'efgh']", "['--api-key', '<secret>', '<secret>']"),
        ("HF_TOKEN=abcd", "HF_TOKEN=<secret>"), ("export A_SECRET='abcd'", "export A_SECRET='<secret>'"), ("DB_PASS=abcd", "DB_PASS=<secret>"), ("MY_PASSWD=abcd", "MY_PASSWD=<secret>"),
        ("MY_PASSPHRASE=abcd", "MY_PASSPHRASE=<secret>"), ("AWS_ACCESS_KEY=abcd", "AWS_ACCESS_KEY=<secret>"), ("A_TOKEN=None", "A_TOKEN=None"), ("A_TOKEN=$B", "A_TOKEN=$B"),
        ("pwd=abcd", "pwd=<secret>"), ("Pwd: abcd", "Pwd: <secret>"), ("pwd=/home/me", "pwd=/home/me"),
        ("token: abcdefghij0123456789", "token: <secret>"), ("token: abcdefghijabcdefghij", "token: abcdefghijabcdefghij"), ("token: abcdefghij012345678", "token: abcdefghij012345678"),
        ("{'name': 'HF_TOKEN', 'value': 'abcd'}", "{'name': 'HF_TOKEN', 'value': '<secret>'}"), ("name: A_KEY, value: abcd", "name: A_KEY, value: <secret>"),
        ("ENV A_TOKEN abcd", "ENV A_TOKEN <secret>"), ("setenv A_SECRET abcd", "setenv A_SECRET <secret>"), ("(b'x-api-key', b'abcd')", "(b'x-api-key', b'<secret>')"),
        *[(f"GET /x?a=1&{name}=abcdef HTTP", f"GET /x?a=1&{name}=<signature> HTTP") for name in
          ("X-Amz-Signature", "X-Goog-Credential", "X-Amz-Security-Token", "Signature", "sig", "Policy", "AWSAccessKeyId", "Key-Pair-Id", "auth")],
        ("password=abcd", "password=<secret>"), ("password is wrong", "password is wrong"), ("--password abcd", "--password <secret>"), ("--api-key =abcd1234", "--api-key =<secret>"),
        ("secret_key: ['abcd', 'efgh']", "secret_key: ['<secret>']"), ("api_key='abcd", "api_key='<secret>"), ("tokens: 123", "tokens: 123"), ("max_tokens=1024", "max_tokens=1024"),
    ],
)  # fmt: skip
def test_secrets_by_their_place(text: str, masked: str) -> None:
    """Behind headers, in addresses, behind names; what stands there and is none stays. A second time changes nothing."""
    assert mask(text) == masked
    assert mask(masked) == masked


@pytest.mark.parametrize("name", [
    "api_key", "api-token", "auth_token", "hf_token", "hub_token", "access_token", "session_token", "security_token", "refresh_token", "bearer_token", "bot_token",
    "app_token", "private_token", "registry_token", "git_token", "github_token", "gitlab_token", "gh_token", "oauth_token", "jwt_token", "sas_token", "vault_token",
    "deploy_token", "service_token", "client_token", "admin_token", "csrf_token", "xsrf_token", "slack_token", "npm_token", "pypi_token", "wandb_token", "ngc_token",
    "modelscope_token", "secret", "secret_key", "secret_access_key", "password", "passwd", "passphrase", "account_key", "shared_access_key", "signing_key",
    "encryption_key", "private_key", "master_key", "subscription_key", "storage_key", "deploy_key", "hmac_key", "user_pass", "db_pass", "smtp_pass", "admin_pass",
    "root_pass", "redis_pass", "mysql_pass", "postgres_pass",
])  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    """In a sentence, as an option, as a fact's name."""
    assert mask(f"x {name}=abcd y") == f"x {name}=<secret> y"
    assert mask(f"x {name}: 'abcd' y") == f"x {name}: '<secret>' y"
    assert mask(f"x --{name.replace('_', '-')} abcd y") == f"x --{name.replace('_', '-')} <secret> y"
    assert mask_value(name.replace("-", "_"), "abcd") == "<secret>"
    for nothing in ("None", "null", "True", "<x>", "***", "args.x", "./key.pem"):
        assert mask(f"x {name}={nothing} y") == f"x {name}={nothing} y"


def test_values_of_facts() -> None:
    """Tables are walked; switches and empty values say nothing."""
    assert mask_value("api_key", True) is True
    assert mask_value("api_key", "") == ""
    assert mask_value("token", "abcd") == "<secret>"
    assert mask_value("tokens", 7) == 7
    assert [mask_value("u", "alice:abcd"), mask_value("p", "abcd")] == ["<secret>", "<secret>"]
    assert mask_value("x", {"password": "abcd", "b": ["http://a:bcd@c"]}) == {
        "password": "<secret>",
        "b": ["http://a:<password>@c"],
    }


def test_the_words_that_masking_takes_out() -> None:
    """The longest first, without quotes; short ones stand anywhere."""
    assert secret_words("nothing here") == []
    assert secret_words("--api-key 'abcd1234' --password abcdefghij x") == ["abcdefghij", "abcd1234"]


BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"


def test_keys_over_several_lines() -> None:
    """Whole, cut above or cut below; what follows the end is text again."""
    hidden = "<private-key>"
    assert mask_lines(["a", BEGIN, "b", f"{END} c", "d"]) == ["a", hidden, hidden, f"{hidden} c", "d"]
    assert mask_lines(["a", "b", f"{END} c", "d"]) == [hidden, hidden, f"{hidden} c", "d"]
    assert mask_lines(["a", BEGIN, "b"]) == ["a", hidden, hidden]
    assert mask_lines([f"{BEGIN} x {END}", "b"]) == [hidden, "b"]


@pytest.mark.parametrize(("width", "hidden"), [(63, False), (64, True), (65, False), (70, True), (76, True)])
def test_a_line_from_within_a_key(width: int, hidden: bool) -> None:
    """By the widths of key files, and by holding digits and letters of both cases."""
    line = L[:width]
    assert mask(f"{line}") == ("<private-key>" if hidden else line)
    assert mask("a" * width) == "a" * width
