"""Secrets leave neither in evidence nor in facts; what only looks like one stays readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.classifier.masking.planted import SECRETS, VENDORS, A
from vllm_triage.classifier.masking import issuers, named, places
from vllm_triage.classifier.masking import mask as masking
from vllm_triage.classifier.masking.mask import mask, mask_lines, mask_value
from vllm_triage.classifier.patterns.lazy import LazyPattern
from vllm_triage.corpus.lint import lint_pattern

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
        ("--api-key one two3 --port 8000 acme/harbor", "--api-key <secret> <secret> --port 8000 acme/harbor"),
        ("--api-key abcd acme/harbor-8b && curl x", "--api-key <secret> acme/harbor-8b && curl x"),
        ("Cookie: a=b; c=d", "Cookie: <cookie>"),
        ("https://a:b@c@host/x", "https://a:<password>@host/x"),
        ("HF_TOKEN=ab,c)d next", "HF_TOKEN=<secret> next"),
        ("Server=db;Pwd=hunter22;App=x", "Server=db;Pwd=<secret>;App=x"),
        ("password=-hunter22", "password=<secret>"),
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
        # What advice and proof need: names of models, numbers, paths, hashes.
        "password:\nthe next line",
        "export HF_TOKEN=\nvllm serve",
        "model='meta-llama/Llama-3.1-8B-Instruct', tokenizer='meta-llama/Llama-3.1-8B-Instruct', tokenizer_mode=auto",
        "special_tokens_map={'bos_token': '<s>', 'eos_token': '<|im_end|>', 'pad_token': '[PAD]'}",
        "vllm==0.10.2+gabc1234 commit 1da94e673c257373280026f75ceb4effac80e892",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "/root/.cache/vllm/torch_compile_cache/e3b0c44298/rank_0_0/inductor_cache/ck/cckx5q7mdbdzw.py",
        "/root/.cache/huggingface/hub/models--acme--harbor/snapshots/4e20de362430cd3b72f300e6b0f18e50e7166e08/config.json",
        "GPU-5bd8f7e1-6a5b-8f4c-2d1a-9c3e7b1f0a52 0x7f3a2c0010d0 request-id chatcmpl-0f7c2a9be4d14b0aa9f1",
        "tcp://10.0.0.1:29500, NCCL_SOCKET_IFNAME=eth0, http://10.0.0.2:8000/v1/users/me@host",
        "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.1, 29500).",
        "OSError: You are trying to access a gated repo. Make sure to have access to it at https://huggingface.co/acme/harbor.",
        "401 Client Error: Unauthorized for url: https://huggingface.co/api/models/acme/harbor (Request ID: Root=1-6702-1a2b3c)",
        "WARNING: Invalid user token. If you didn't pass a user token, make sure you are properly logged in",
        "argument --api-key: expected at least one argument",
        "api_key=$VLLM_API_KEY, password=${PASSWORD}, hf_token=self.config.hf_token, api_key=api_key,",
        "ssl_keyfile='/etc/ssl/private/key.pem', private_key=/etc/ssl/server.key",
        "PWD=/workspace/app OLDPWD=/root",
        "api_key=['<secret>'], hf_token='', password=None",
        "Basic authentication is required; Bearer authentication is not",
        'secret "hf-token" not found',
        "DeepseekV3ForCausalLM/Qwen3MoeForCausalLM/Llama4ForConditionalGeneration/Gemma3nForCausalLM",
        "SystemPrompt: You are a helpful assistant. tokens: 4096, num_scheduled_tokens={'cmpl-1': 1}",
        "speculative_config=None, override_neuron_config={}, key=model.layers.61.mlp.experts.255.down_proj.weight_scale_inv",
        "max_model_len=131072, gpu_memory_utilization=0.9, served_model_name=['harbor'], api_key=None",
        "git clone ssh://git@github.com/vllm-project/vllm.git",
        "image: registry.example/vllm/vllm-openai:v0.10.2@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """Ordinary words of a log that resemble the name of a secret are left alone."""
    assert text == mask(text)


CONTEXTS = {
    "a sentence": "upstream refused {} just now",
    "an exception": "RuntimeError('cannot use {}')",
    "JSON": '{{"first": "{}", "second": 1}}',
    "an address": "GET https://h.example/x?first={}&second=1",
    "an assignment": "first={}, second=1",
}


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_token_is_known_by_its_form(vendor: str, context: str) -> None:
    """Wherever it stands, with no telling name beside it; what surrounds it stays."""
    token = VENDORS[vendor]
    before, after = CONTEXTS[context].replace("{{", "{").replace("}}", "}").split("{}")
    masked = mask(f"{before}{token}{after}")
    assert token[-12:] not in masked
    assert masked.startswith(before[: before.rfind("/") + 1] or before)
    assert masked.endswith(after)


def test_there_are_many_vendors() -> None:
    """What is promised of each context is promised for at least forty kinds."""
    assert len(VENDORS) >= 40


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


WRAPS = (
    "{}",
    "ValueError: no way on: {} (see above)",
    "vllm-1  | 2026-01-02T03:04:05.678901234Z stderr F {}",
    "(EngineCore_DP0 pid=12) ERROR 10-25 13:08:43 [core.py:708] {}",
    "INFO 10-25 13:08:43 [utils.py:233] non-default args: {{'model': 'acme/harbor', 'x': 1, }} {} port=8000",
    "RuntimeError('{}')",
)


@pytest.mark.parametrize("kind", SECRETS)
def test_every_kind_is_masked_wherever_it_stands(kind: str) -> None:
    """In a message, behind the prefixes of containers and processes, in a dump; and every line of it by itself."""
    for text, secret in SECRETS[kind]:
        for wrap in WRAPS:
            assert secret not in "\n".join(mask_lines(wrap.format(text).split("\n")))


@given(
    st.sampled_from([pair for pairs in SECRETS.values() for pair in pairs if "\n" not in pair[0]]),
    st.sampled_from(["", "x ", "a=1, ", '{"a": 1, ', "[core.py:7] ", "-- ", "'", "(", "|", "url: "]),
    st.sampled_from(["", " x", ", b=2", "}", " [core.py:7]", "'", ")", " https://h.example/x", "\\n"]),
)
def test_no_neighbour_hides_a_secret(planted: tuple[str, str], before: str, after: str) -> None:
    """Quotes, brackets and words on either side change nothing."""
    text, secret = planted
    assert secret not in mask(before + text + after)


def _body(lines: int) -> list[str]:
    return ["-----BEGIN PRIVATE KEY-----", *(f"{A}+/{number}" for number in range(lines)), "-----END PRIVATE KEY-----"]


@given(st.integers(0, 6), st.integers(0, 8), st.integers(0, 8))
def test_a_key_is_masked_however_it_is_cut(lines: int, first: int, left: int) -> None:
    """Also where its first or its last lines are not among those that are shown."""
    shown = ["INFO: start", *_body(lines), "INFO: on"][first : lines + 4 - left]
    frame = any("PRIVATE KEY" in line for line in shown)
    masked = mask_lines(shown)

    assert len(shown) == len(masked)
    assert not frame or not any(A in line for line in masked)
    assert {line for line in shown if "INFO" in line} == {line for line in masked if "INFO" in line}


def _patterns(value: object) -> list[LazyPattern[str]]:
    if isinstance(value, LazyPattern):
        return [value]
    return [found for item in value for found in _patterns(item)] if isinstance(value, tuple) else []


PATTERNS = {
    pattern.made.pattern: pattern.made
    for module in (masking, issuers, named, places)
    for value in vars(module).values()
    for pattern in _patterns(value)
}


def test_no_expression_explodes() -> None:
    """By the lint of the rules of the corpus: no open-ended repeat within another, few of them at all."""
    assert len(PATTERNS) > 30
    assert {} == {pattern: found for pattern in PATTERNS if (found := lint_pattern(pattern))}


@pytest.mark.parametrize(
    "bait",
    [
        "api_key", "--api-key ", "password='", "api_key=[", "://a:", "://", "Cookie: a=b;", "-----BEGIN PRIVATE KEY-----", "eyJ" + "a" * 9 + ".",
        "HF_", "curl ", "login a ", "Authorization: Bearer ", "name: HF_TOKEN value", "token=", "Basic aaaa", "xoxb", A, " ", "\\", "--a-",
    ],
)  # fmt: skip
def test_bait_ends(bait: str) -> None:
    """Text that begins to match again and again: an expression that explodes would never come to its end."""
    assert isinstance(mask(bait * (60_000 // len(bait)) + "!"), str)
