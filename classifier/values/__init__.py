"""Values worked out from a log's own numbers: small pure functions that fix texts name.

``COMPUTED[name](facts)`` gives text to paste, or "" where a number is missing; ``WORKED[name](facts)`` gives the same
with the arithmetic and the inputs. A function's module is imported when it is first called: most answers need none.
What needs a model's config.json stands in ``sizing``: a log does not hold that file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .worked import Worked

__all__ = ["COMPUTED", "PIECES", "WORKED"]

_MODULES = {
    "adapters": ("fit_max_lora_rank",),
    "batch": (
        "halve_max_num_seqs", "raise_max_num_seqs", "fit_max_num_seqs", "below_running", "halve_max_num_batched_tokens",
        "raise_max_num_batched_tokens", "usual_max_num_seqs", "more_wait_than_run",
    ),
    "cache_space": ("fit_kv_cache_memory_bytes", "fit_cpu_kvcache_space"),
    "context": ("fit_max_model_len", "fit_output_tokens", "prompt_tokens_at_least", "prompt_tokens_counted", "output_share_percent"),
    "libraries": ("system_package", "cuda_library", "stray_module"),
    "memory": (
        "fit_gpu_memory_utilization", "raise_gpu_memory_utilization", "lower_gpu_memory_utilization", "enough_gpu_memory_utilization", "filled_before_profiling",
        "held_by_others", "too_much_lacks", "room_beside_gib",
    ),
    "media": ("counted_apart", "raised_media_limit"),
    "modules": ("module_last", "module_first", "module_unknown"),
    "names": ("hub_repository", "model_folder", "into_model_folder", "instruct_variant"),
    "options": (
        "meant_option", "meant_options", "gone_options", "early_options", "later_options", "misplaced_options", "stray_words", "option_name",
        "option_kind", "accepted_value",
    ),
    "packages": ("distribution", "requirement", "part_of_vllm", "vllm_itself", "sdk_module", "own_module", "asking_package", "asking_module", "submodule", "asking_checkout"),
    "parallel": (
        "fit_tensor_parallel_size", "raise_tensor_parallel_size", "lower_tensor_parallel_size", "aligned_tensor_parallel_size", "alignment_factor",
    ),
    "machine": ("unified_memory", "offloaded_gib"),
    "ports": ("free_port",),
    "processors": ("remote_processor", "own_processor_since"),
    "sizes": ("total_weights_gib", "no_flag_fixes", "smallest_change_that_fits"),
}  # fmt: skip


def _later(module: str, name: str) -> Callable[[Mapping[str, object]], Worked]:
    def work(facts: Mapping[str, object]) -> Worked:
        from importlib import import_module

        found: Worked = getattr(import_module(f".{module}", __name__), name)(facts)
        return found

    return work


def _text(work: Callable[[Mapping[str, object]], Worked]) -> Callable[[Mapping[str, object]], str]:
    return lambda facts: work(facts).value


PIECES = frozenset(
    {"meant_options", "gone_options", "early_options", "misplaced_options", "accepted_value", "into_model_folder"}
)
"""Those that give a piece of a command, in which what comes from the log is quoted already; all others give one word."""

WORKED = {name: _later(module, name) for module, names in _MODULES.items() for name in names}
"""What ``{name}`` in a fix may compute, by name, with its arithmetic."""

COMPUTED: dict[str, Callable[[Mapping[str, object]], str]] = {name: _text(work) for name, work in WORKED.items()}
"""The same as text alone."""
