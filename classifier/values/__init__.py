"""Values worked out from a log's own numbers: small pure functions that fix texts name.

``COMPUTED[name](facts)`` gives text to paste, or "" where a number is missing; ``WORKED[name](facts)`` gives the same
with the arithmetic and the inputs. What needs a model's config.json (``architecture``, ``parameters``, ``weights``,
``kv_cache``, ``placement``, ``planning``) is imported only by who asks for it: a log does not hold that file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .batch import fit_max_num_seqs, halve_max_num_batched_tokens, halve_max_num_seqs
from .context import fit_max_model_len
from .memory import fit_gpu_memory_utilization, lower_gpu_memory_utilization, raise_gpu_memory_utilization
from .parallel import fit_tensor_parallel_size, lower_tensor_parallel_size, raise_tensor_parallel_size
from .ports import free_port
from .sizes import no_flag_fixes, smallest_change_that_fits, total_weights_gib
from .worked import Worked

__all__ = ["COMPUTED", "WORKED", "Worked"]

WORKED: dict[str, Callable[[Mapping[str, Any]], Worked]] = {
    function.__name__: function
    for function in (
        fit_max_model_len, fit_gpu_memory_utilization, raise_gpu_memory_utilization, lower_gpu_memory_utilization,
        fit_tensor_parallel_size, raise_tensor_parallel_size, lower_tensor_parallel_size, free_port,
        halve_max_num_seqs, fit_max_num_seqs, halve_max_num_batched_tokens,
        total_weights_gib, no_flag_fixes, smallest_change_that_fits,
    )
}  # fmt: skip
"""What ``{name}`` in a fix may compute, by name, with its arithmetic."""


def _text(function: Callable[[Mapping[str, Any]], Worked]) -> Callable[[Mapping[str, Any]], str]:
    return lambda facts: function(facts).value


COMPUTED: dict[str, Callable[[Mapping[str, Any]], str]] = {name: _text(function) for name, function in WORKED.items()}
"""The same as text alone."""
