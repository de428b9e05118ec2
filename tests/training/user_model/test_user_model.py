"""A model of your own logs: what is learnt from, what is warned about, and the file that comes of it."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from vllm_triage.classifier.text_model.user import FILE, digest, read_own
from vllm_triage.training.examples.labelled import Case, read_cases
from vllm_triage.training.examples.row import Row, write_rows
from vllm_triage.training.user_model.export import write
from vllm_triage.training.user_model.fit import fit_user_model
from vllm_triage.training.user_model.model import UserModel
from vllm_triage.training.user_model.negatives import SHIPPED, Negative, background, negatives, rows_of_rules
from vllm_triage.training.user_model.training_set import OwnSet, own_set
from vllm_triage.training.user_model.validate import Validation, validate

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")

KNOWN = ["lora", "no_gpu", "port_in_use"]
QUOTA = ("has used up its tokens", "is over its share of hours", "was suspended by billing", "has no budget left")


def log(kind: str, text: str) -> str:
    """An exception as a plug-in of vLLM's raises it."""
    return (
        "Traceback (most recent call last):\n"
        f'  File "/srv/acme/{kind}.py", line 9, in admit\n    raise {kind}(tenant)\n{kind}: {text}\n'
    )


def cases(*items: tuple[str, str], group: str = "") -> list[Case]:
    """Labelled logs of (bucket, text)."""
    return [Case(str(n), bucket, f"own.jsonl:{n}", text=text, group=group) for n, (bucket, text) in enumerate(items, 1)]


@pytest.fixture(scope="module")
def rows() -> OwnSet:
    """Two buckets of four failures each, one of which is new."""
    quota = [("acme_quota", log("AcmeQuotaError", f"the tenant {text}")) for text in QUOTA]
    texts = ("lease lost", "slot taken", "port is occupied", "gateway refused")
    ports = [("port_in_use", log("GateError", text)) for text in texts]
    return own_set(cases(*quota, *ports), KNOWN)


@pytest.fixture(scope="module")
def against() -> list[Negative]:
    """What is none of these."""
    return negatives(
        [
            Row(f"ValueError: the {word} of the model is wrong", "lora", word, "rule")
            for word in ("rank", "size", "name")
        ]
        + [Row(f"KeyError: {word} is not here", "unknown", word, "other") for word in ("order", "invoice", "cart")],
        ["acme_quota", "port_in_use"],
    )


@pytest.fixture(scope="module")
def model(rows: OwnSet, against: Sequence[Negative]) -> UserModel:
    """A model of them."""
    return fit_user_model(rows.rows, against)


def warnings(*items: tuple[str, str]) -> str:
    """What is said about cases."""
    return "\n".join(own_set(cases(*items), KNOWN).warnings)


def test_probabilities_equal_scikit_learns(model: UserModel, rows: OwnSet, tmp_path: Path) -> None:
    """To a millionth, on both sides of the file."""
    from scipy.special import softmax

    model.temperature = 0.8
    write(model, tmp_path, rows, Validation())
    read = read_own(str(tmp_path))
    for row in rows.rows:
        for unit in row.units:
            expected = softmax(model.logits([unit])[0] / 0.8)
            assert read.probabilities(read.logits(unit)) == pytest.approx(list(expected), abs=1e-6)


def test_the_same_logs_make_the_same_file(rows: OwnSet, against: Sequence[Negative], tmp_path: Path) -> None:
    """Byte by byte."""
    for name in "ab":
        checked, _, _ = validate(rows.rows, against)
        write(fit_user_model(rows.rows, against), tmp_path / name, rows, checked)
    assert (tmp_path / "a" / FILE).read_bytes() == (tmp_path / "b" / FILE).read_bytes()


def test_one_bucket_is_enough(against: Sequence[Negative], tmp_path: Path) -> None:
    """Two classes have one row in scikit-learn, and two in the file."""
    rows = own_set(cases(*[("lora", log("AcmeError", text)) for text in QUOTA]), KNOWN)
    write(fit_user_model(rows.rows, against), tmp_path, rows, Validation())
    read = read_own(str(tmp_path))
    mine, rest, _ = read.ask([dict.fromkeys(rows.rows[0].units[0], 1)])
    assert mine["lora"] > rest


def test_what_it_knows_is_named_and_what_it_does_not_is_left(model: UserModel, rows: OwnSet, tmp_path: Path) -> None:
    """In other words of the same failure; and in words that were never said."""
    write(model, tmp_path, rows, Validation())
    read = read_own(str(tmp_path))
    again = own_set(cases(("x", log("AcmeQuotaError", "the tenant blue has spent its tokens"))), KNOWN).rows[0]
    other = own_set(cases(("x", "ZeroDivisionError: division by zero\n")), KNOWN).rows[0]
    mine, _, _ = read.ask([dict.fromkeys(again.units[0], 1)])
    assert max(mine, key=mine.__getitem__) == "acme_quota"
    assert mine["acme_quota"] > 0.5
    _, rest, _ = read.ask([dict.fromkeys(other.units[0], 1)])
    assert rest > 0.5


def test_a_file_holds_no_word_of_the_logs(model: UserModel, rows: OwnSet, tmp_path: Path) -> None:
    """Checksums, buckets, titles and counts."""
    text = write(model, tmp_path, rows, Validation()).read_text()
    about = json.loads(text)
    assert all(key.isdecimal() for key in about["terms"])
    assert set(about["titles"].values()) == {"Acme quota"}
    assert not [word for word in ("tenant", "billing", "AcmeQuotaError", "gateway", "admit") if word in text]


def test_secrets_are_masked_before_terms_are_read() -> None:
    """Not even their checksums are kept."""
    secret = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345"
    made = own_set(cases(("lora", log("AcmeError", f"refused token={secret} of tenant blue"))), KNOWN)
    terms = [term for unit in made.rows[0].units for term in unit]
    assert not [term for term in terms if secret.lower()[:20] in term.lower()]
    assert "w:tenant" in terms


def test_copies_of_one_failure_are_one_group() -> None:
    """Other numbers, paths and ids make no other failure; other words do."""
    made = own_set(
        cases(
            ("lora", log("AcmeError", "lease 17 of /srv/a/b/adapter lost")),
            ("lora", log("AcmeError", "lease 99 of /data/x/y/adapter lost")),
            ("lora", log("OtherError", "the archive has another checksum than its manifest says")),
        ),
        KNOWN,
    )
    assert [row.group for row in made.rows] == [0, 0, 1]
    assert made.copies == 1
    assert made.groups("lora") == 2


def test_groups_that_the_data_names_are_kept() -> None:
    """Occurrences of one incident."""
    items = cases(("lora", log("AError", "one")), ("lora", log("BError", "quite another")), group="feedback/x")
    assert [row.group for row in own_set(items, KNOWN).rows] == [0, 0]


def test_copies_stand_on_one_side(against: Sequence[Negative]) -> None:
    """A bucket of one failure, printed five times, is never named in validation: nothing of it was trained on."""
    text = log("AcmeError", "the lease of an adapter was lost")
    other = [("no_gpu", log("GpuError", f"{word} fell off the bus")) for word in ("card", "device", "board")]
    made = own_set(cases(*[("lora", text)] * 5, *other), KNOWN)
    checked, _, threshold = validate(made.rows, against)
    assert checked.per_bucket["lora"][0] == 0
    assert checked.asked == 8
    assert 0.5 <= threshold <= 0.95


def test_contradictions_are_told_and_left_out() -> None:
    """The majority counts; without one, nothing."""
    text = log("AcmeError", "lease lost")
    told = own_set(cases(("lora", text), ("no_gpu", text), ("lora", text)), KNOWN)
    assert [row.bucket for row in told.rows] == ["lora", "lora"]
    assert any("own.jsonl:1" in item and "own.jsonl:2" in item for item in told.warnings)
    tie = own_set(cases(("lora", text), ("no_gpu", text)), KNOWN)
    assert tie.rows == []
    assert any("all left out" in item for item in tie.warnings)


def test_doubts_are_put_into_words() -> None:
    """Too few, nothing to learn from, a new bucket, one that looks misspelt."""
    assert "lora: only one failure" in warnings(("lora", log("AcmeError", "lost")))
    assert "own.jsonl:1" in warnings(("lora", "INFO:     Application startup complete.\n"))
    assert "acme_quota is a new bucket" in warnings(("acme_quota", log("AcmeError", "lost")))
    assert "did you mean port_in_use?" in warnings(("port_in_used", log("AcmeError", "lost")))


def test_a_label_that_is_no_id_becomes_one() -> None:
    """And the label the title."""
    made = own_set(cases(("GPU fell off the bus!", log("AcmeError", "lost"))), KNOWN)
    assert made.buckets == ["gpu_fell_off_the_bus"]
    assert made.titles == {"gpu_fell_off_the_bus": "GPU fell off the bus!"}


def test_feedback_becomes_rows(tmp_path: Path) -> None:
    """What was right and what it really was; "wrong" alone says nothing to learn."""
    file = tmp_path / "feedback.jsonl"
    digest = log("AcmeError", "lease lost")
    told = [("right", "lora", "a"), ("wrong", "no_gpu", "b"), ("wrong", "", "c")]
    lines = [
        {"id": group, "digest": digest.replace("lease", group * 9), "stage": "weights", "bucket": bucket, "verdict": verdict,
         "group": f"feedback/{group}", "source": "feedback"}
        for verdict, bucket, group in told
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = own_set(read_cases([file]), KNOWN)
    assert [row.bucket for row in made.rows] == ["lora", "no_gpu"]
    assert "s:weights" in made.rows[0].units[0]
    assert any("1 rows of feedback" in item for item in made.warnings)


def test_no_row_of_a_bucket_that_is_learnt_stands_against_it() -> None:
    """Rules' examples of the same bucket are no "none of these"."""
    rows = [Row("ValueError: rank", "lora", "a", "rule"), Row("ValueError: other", "no_gpu", "b", "rule")]
    assert [item.group for item in negatives(rows, ["lora"])] == ["b"]


def test_terms_are_kept_by_their_checksum(model: UserModel, rows: OwnSet) -> None:
    """Ascending, each once."""
    keys = model.vocabulary.keys
    assert keys == sorted(set(keys))
    assert zlib.crc32(rows.rows[0].units[0][0].encode()) in keys


def test_a_wheel_has_the_rows_ready_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they were written when it was built, neither rule files nor recorded logs are read."""
    made = [Row("ValueError: rank", "lora", "a", "rule"), Row("ValueError: other", "no_gpu", "b", "recorded")]
    shipped = tmp_path / SHIPPED.name
    write_rows(shipped, made)
    monkeypatch.setattr("vllm_triage.training.user_model.negatives.SHIPPED", shipped)
    background.cache_clear()
    try:
        assert background() == tuple(made)
        assert rows_of_rules() == made[:1]
    finally:
        background.cache_clear()


def test_one_failure_a_bucket_is_validated_without_a_warning(against: Sequence[Negative]) -> None:
    """A fold may hold no log of the user's: what it says then weighs nothing."""
    items = [("lora", log("AcmeError", "lease lost")), ("acme_quota", log("QuotaError", "no budget left"))]
    _, _, threshold = validate(own_set(cases(*items), KNOWN).rows, against)
    assert 0.5 <= threshold <= 0.95


def test_copies_on_other_machines_stand_on_one_side() -> None:
    """Names of machines and ids differ between copies of one failure; of other labels they stay apart."""
    machines = ("node-031.fra.corp", "gpu-204.iad.corp", "lic2.corp", "vm7.eu.example", "c967a6")
    texts = ("license server {} refused a seat", "the daemon at {} speaks another version of the protocol")
    items = [("lora", log("acme.flex.LicenseError", text.format(name))) for text in texts for name in machines]
    made = own_set(cases(*items), KNOWN)
    assert [row.group for row in made.rows] == [0] * 5 + [1] * 5
    apart = own_set(cases(items[0], ("no_gpu", items[1][1])), KNOWN)
    assert (2, []) == (
        len({row.group for row in apart.rows}),
        [told for told in apart.warnings if "contradictory" in told],
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"temperature": 0}, "make no sense"),
        ({"threshold": float("nan")}, "make no sense"),
        ({"buckets": [], "intercept": [0.0], "terms": {}}, "make no sense"),
        ({"terms": {"1": []}}, "not whole"),
        ({"buckets": ["acme\x1b[31m", "x"]}, "is not the id of a bucket"),
    ],
)
def test_a_file_that_somebody_made_up_is_refused(
    model: UserModel, rows: OwnSet, tmp_path: Path, change: dict[str, object], told: str
) -> None:
    """Its digest is a checksum: anybody can write it anew."""
    about = json.loads(write(model, tmp_path, rows, Validation()).read_text()) | change
    about["sha256"] = digest(about)
    (tmp_path / FILE).write_text(json.dumps(about))
    with pytest.raises(ValueError, match=told):
        read_own(str(tmp_path))


def test_what_is_no_model_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe, nesting without end."""
    (tmp_path / FILE).write_text("[" * 200_000)
    with pytest.raises(ValueError, match="nested"):
        read_own(str(tmp_path / FILE))
    (tmp_path / FILE).unlink()
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(ValueError, match="no file"):
        read_own(str(tmp_path))
