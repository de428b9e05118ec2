"""Which package brings a shared library that is missing."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.values import COMPUTED


@pytest.mark.parametrize(
    ("library", "system", "cuda"),
    [
        ("libGL.so.1", "libgl1", ""),
        ("/usr/lib/libnuma.so.1", "libnuma1", ""),
        ("libcudart.so.12", "", "libcudart.so.12"),
        ("libcudnn_cnn_infer.so.8", "", "libcudnn_cnn_infer.so.8"),
        ("libacme.so.3", "", ""),
    ],
)
def test_a_library_is_the_systems_or_cudas(library: str, system: str, cuda: str) -> None:
    """What is neither is looked up."""
    facts = {"library": library}
    assert (system, cuda) == (COMPUTED["system_package"](facts), COMPUTED["cuda_library"](facts))
