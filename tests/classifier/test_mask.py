"""Secrets leave neither in evidence nor in facts; what only looks like one stays readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.mask import mask, mask_value

# Written in halves: scanners of repositories would take whole ones for real.
HF, SK = "hf_" + "AbCdEfGhIjKlMnOpQrStUv", "sk-" + "proj-AbCdEfGhIjKlMnOp"
GH, SLACK = "ghp_" + "AbCdEfGhIjKlMnOpQrStUvWx", "xoxb-" + "1234567890-abcdef"
AWS, JWT = "AKIA" + "ABCDEFGHIJKLMNOP", "eyJ" + "hbGciOiJI.eyJ" + "zdWIiOiIx.SflKxwRJSMeK"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"token {HF} given", "token <hf-token> given"),
        (f"using {SK}", "using <api-key>"),
        (f"remote https://{GH}@host/x", "remote https://<github-token>@host/x"),
        (f"webhook {SLACK}", "webhook <slack-token>"),
        (f"key id {AWS}", "key id <aws-key-id>"),
        (f"cookie {JWT}", "cookie <jwt>"),
        ("--api-key mysecretvalue --port 8000", "--api-key <secret> --port 8000"),
        ("--api-key=my.secret/value", "--api-key=<secret>"),
        ("'--api-key', 'token-abc123', '--port'", "'--api-key', '<secret>', '--port'"),
        ("api_key='hello1234', port=8000", "api_key='<secret>', port=8000"),
        ("api_key=['abcd1234', 'efgh5678'], port=8000", "api_key=['<secret>'], port=8000"),
        ("password: 'a b c'", "password: '<secret>'"),
        ("password='cut off he", "password='<secret>"),
        ("HF_TOKEN=whatever1 vllm serve", "HF_TOKEN=<secret> vllm serve"),
        ("HUGGING_FACE_HUB_TOKEN=whatever1", "HUGGING_FACE_HUB_TOKEN=<secret>"),
        ("AWS_SECRET_ACCESS_KEY=ab/cd+1234", "AWS_SECRET_ACCESS_KEY=<secret>"),
        ("VLLM_API_KEY=abcdefgh", "VLLM_API_KEY=<secret>"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer <token>"),
        ("x-api-key: abcdefgh", "x-api-key: <secret>"),
        ("redis://user:hunter2@cache:6379/0", "redis://user:<password>@cache:6379/0"),
        ("https://bucket/x?X-Amz-Signature=0123456789ab&y=1", "https://bucket/x?X-Amz-Signature=<signature>&y=1"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<private-key>"),
    ],
)
def test_secrets_become_placeholders(text: str, expected: str) -> None:
    """A secret is replaced by a word that says what stood there; what surrounds it stays."""
    assert expected == mask(text)


@pytest.mark.parametrize(
    "text",
    [
        "max_num_batched_tokens=8192, MAX_TOKENS=4096",
        "password authentication failed for user",
        "api_key required",
        "api_key=None, hf_token=None",
        "--api-key --port 8000",
        "--ssl-keyfile /etc/ssl/key.pem",
        "eos_token='</s>', bos_token_id=1",
        "KeyError: 'model.layers.0.mlp.gate_up_proj.weight'",
        "The tokenizer has 151643 tokens; GPU KV cache size: 67,888 tokens",
        'File "/opt/vllm/model_executor/models/llama.py", line 12, in load_weights',
        "http://127.0.0.1:8000/v1/models",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Ordinary words of a log that resemble the name of a secret are left alone."""
    assert text == mask(text)


@given(
    st.lists(
        st.sampled_from(
            [
                HF,
                SK,
                "api_key",
                "--api-key",
                "=",
                ": ",
                " ",
                "'",
                '"',
                "[",
                "]",
                "abcd1234",
                "HF_TOKEN",
                "<secret>",
                ",",
            ]
        ),
        max_size=30,
    )
)
def test_masking_twice_changes_nothing_more(words: list[str]) -> None:
    """Placeholders are no secrets."""
    once = mask("".join(words))
    assert once == mask(once)


@given(st.text(max_size=200), st.sampled_from([HF, SK, GH, AWS]), st.text(max_size=200))
def test_no_surrounding_lets_a_known_token_through(before: str, token: str, after: str) -> None:
    """Whatever stands around it, a token of a known shape does not leave."""
    assert token not in mask(f"{before} {token} {after}")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("api_key", "x", "<secret>"),
        ("hf_token", ["x"], "<secret>"),
        ("api_key", None, None),
        ("enable_auth_token", True, True),
        ("max_model_len", 4096, 4096),
        ("arguments", {"api_key": "x", "port": 8000}, {"api_key": "<secret>", "port": 8000}),
        ("arguments", ["--api-key=abcdefgh", ("a", 1)], ["--api-key=<secret>", ["a", 1]]),
    ],
)
def test_facts_are_masked_by_their_names_and_their_text(name: str, value: object, expected: object) -> None:
    """Tables and lists of facts are walked; numbers and switches stay what they are."""
    assert expected == mask_value(name, value)
