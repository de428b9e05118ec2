"""What an error names in its own words comes before the list of its bucket."""

from __future__ import annotations

import pytest

from vllm_triage.classifier.api import shared

LMCACHE = (
    "AssertionError: LMCacheMPConnector only works without hybrid kv cache manager. "
    "Please pass --disable-hybrid-kv-cache-manager when starting vllm"
)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        (LMCACHE, "Switch the hybrid KV cache manager off"),
        (
            "OSError: libascend_hal.so: cannot open shared object file: No such file or directory",
            "Give the process the accelerator's device files",
        ),
        (
            "RuntimeError: Method 'cgemm_4bit' not available in CPU-only version of bitsandbytes.",
            "Let bitsandbytes and torch say",
        ),
        (
            "OSError: acme/secret-7b is a gated repository. Make sure to request access at https://huggingface.co/acme/secret-7b",
            "Accept the terms on the model page",
        ),
    ],
)
def test_the_first_fix_is_for_what_the_error_names(line: str, title: str) -> None:
    assert shared().report(line).fixes[0].title.startswith(title)
