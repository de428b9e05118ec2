"""The packages that a fix may tell people to install."""

from __future__ import annotations

from vllm_triage.training.options.packages import catalogued


def test_packages_that_messages_tell_people_to_install(tmp_path):
    """By all forms of the command; an address, and vLLM itself, is none."""
    told = [
        "run `pip install -U acme_one` first",
        'pip3 install "acme-two>=2"',
        "pip install vllm, or pip install git+https://x/y",
        "pip install acme.three.",
    ]
    (tmp_path / "acme.tsv").write_text("\n".join(told), "utf-8")

    assert ["acme-one", "acme-three", "acme-two"] == catalogued(tmp_path)
