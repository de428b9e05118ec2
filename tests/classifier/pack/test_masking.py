"""Secrets do not stand in packs, wherever in a log they stood."""

from __future__ import annotations

import random

import pytest

from tests.classifier.masking.planted import SECRETS
from tests.classifier.pack.logs import failing, prefixed
from tests.everyday import sample
from vllm_triage.classifier.api import triage

PLANTED = [pair for pairs in SECRETS.values() for pair in pairs]
LOGS, EACH = 100, 50
WRAPS = (
    "{}", "ValueError: no way on: {} (see above)", "vllm-1  | {}", "RuntimeError('{}')", "url: {}", "[core.py:7] {} x", "{} failed",
)  # fmt: skip


@pytest.mark.parametrize("seed", sample(range(LOGS // 10), 3))
def test_of_five_thousand_secrets_none_is_in_a_pack(seed: int) -> None:
    """In messages, in arguments, in stacks; in the text, in the JSON and in the prompt, at every size."""
    chance = random.Random(seed)
    for _ in range(10):
        planted = [chance.choice(PLANTED) for _ in range(EACH)]
        lines = failing(before=30, after=30)
        for text, _secret in planted:
            told = chance.choice(WRAPS).format(text)
            lines.insert(chance.randrange(2, len(lines)), chance.choice([told, prefixed("EngineCore_DP0", 2, told)]))
        report = triage("\n".join(lines))
        for budget in (2_000, 14_000, 60_000):
            pack = report.pack(budget)
            shown = pack.prompt() + repr(pack.to_dict())
            assert [] == [secret for _, secret in planted if secret in shown]


def test_a_key_over_several_lines_is_masked_where_only_its_middle_would_be_shown() -> None:
    """What a private key is shows only in the lines around it."""
    body = [f"q7{'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7b' * 2}+/{number % 10}" for number in range(60)]
    key = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
    lines = failing(before=300, after=0)
    pack = triage("\n".join([*lines[:-1], *key, lines[-1]])).pack()

    assert [] == [line for line in body if line in pack.text()]


def test_an_endless_line_is_not_cut_through_a_secret() -> None:
    """Half a token would no longer be recognised as one."""
    token = PLANTED[0]
    line = " ".join(
        f"ValueError: refused {text} {'x' * (number % 97)}" for number, (text, _) in enumerate([token] * 20_000)
    )
    shown = triage("INFO 11-02 09:14:01 [a.py:1] one\n" + line + "\nlast\n").pack(60_000).text()

    assert [] == [size for size in (8, 12, 16, 24) if token[1][-size:] in shown]
