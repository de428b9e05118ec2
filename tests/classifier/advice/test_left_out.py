"""What was not given cannot be left out, nor ranks without which the weights have no room."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixes import context as situation
from tests.fixes import made as fix
from vllm_triage.classifier.advice.adapters.options import adapt as as_given


def left(change: str, kind: str = "flag", **situated: Any) -> str:
    """Return what is left of a fix, or the reason."""
    made, reason = as_given(fix(change, kind), situation(**situated))
    return made.change if made is not None else reason


@pytest.mark.parametrize("change", ["leave out --enable-lora"])
def test_what_was_not_given_cannot_be_left_out(change: str) -> None:
    """Where the log lists the arguments, or the command shows them."""
    assert left(change, arguments={"dtype": "half"}).startswith("--enable-lora is not among")
    assert left(change, arguments={"enable_lora": True}) == change
    assert left(change, arguments={"a": 1}, command="vllm serve m --enable-lora") == change
    assert left(change) == change


def test_of_several_options_those_remain_that_were_given() -> None:
    """The command that the answer prints is about these."""
    assert left("leave out --dtype --seed", arguments={"seed": 1}) == "leave out --seed"


def test_keys_of_json_options() -> None:
    """A key is there where the value has it, as a table or as its text; where it cannot be read it may be."""
    out = "leave out --kv-transfer-config.kv_connector_extra_config.num_cpu_blocks"
    table = {"kv_connector": "x", "kv_connector_extra_config": {"num_cpu_blocks": 9}}
    assert left(out, arguments={"kv_transfer_config": table}) == out
    assert left(out, arguments={"kv_transfer_config": '{"kv_connector_extra_config": {"num_cpu_blocks": 9}}'}) == out
    assert left(out, arguments={"kv_transfer_config": "KVTransferConfig(…)"}) == out
    assert "is not among" in left(out, arguments={"kv_transfer_config": {"kv_connector_extra_config": {}}})
    assert "is not among" in left(out, arguments={"seed": 1})


def test_what_was_given_in_its_place_is_left_out() -> None:
    """Speculation is given as a whole, or by its parts."""
    given = {"spec_method": "ngram", "spec_tokens": 3}
    assert left("leave out --speculative-config", arguments=given) == "leave out --spec-method --spec-tokens"


def test_a_switch_that_was_denied_is_left_out_by_its_denial() -> None:
    """The log lists it as false, under the name that is denied."""
    change = "leave out --no-enable-chunked-prefill"
    assert left(change, arguments={"enable_chunked_prefill": False}) == change
    assert "is not among" in left(change, arguments={"seed": 1})


def test_ranks_stay_where_one_gpu_cannot_hold_the_weights() -> None:
    """One rank would fail sooner."""
    facts: dict[str, Any] = {
        "gpu_memory_total_gib": 24.0,
        "weights_gib": 20.0,
        "tensor_parallel_size": 4,
        "gpu_memory_utilization": 0.9,
    }
    assert left("leave out --tensor-parallel-size", arguments={"tensor_parallel_size": 4}, **facts).startswith(
        "the weights take"
    )
    small: dict[str, Any] = {**facts, "weights_gib": 2.0}
    out = "leave out --tensor-parallel-size"
    assert left(out, arguments={"tensor_parallel_size": 4}, **small) == out
