"""vLLM's own reckoning of KV memory, written down a second time from its sources, layer by layer, for the tests alone.

Specs and ``max_memory_usage_bytes`` after vllm/v1/kv_cache_interface.py (0.19), groups after
vllm/v1/core/kv_cache_utils.py. Nothing here is shared with the code under test: layers have names, groups are lists of
names, pages are looked up per layer.
"""

import math
from dataclasses import dataclass, replace
from itertools import groupby


@dataclass(frozen=True)
class Attention:
    """FullAttentionSpec, SlidingWindowSpec (``window``) and MLAAttentionSpec (``joint``: no separate values)."""

    heads: int
    size: int
    number: int = 2
    block: int = 16
    window: int = 0
    joint: bool = False

    @property
    def page(self):
        return (1 if self.joint else 2) * self.block * self.heads * self.size * self.number

    def request(self, length, batched):
        if self.window:
            return (math.ceil(min(self.window - 1 + batched, length) / self.block) + 1) * self.page
        return math.ceil(length / self.block) * self.page


@dataclass(frozen=True)
class Mamba:
    """MambaSpec: the shapes of the convolution's and the recurrent state, with their bytes per number."""

    shapes: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]
    padded: int = 0
    block: int = 1 << 40

    @property
    def page(self):
        return self.padded or sum(
            math.prod(shape) * size for shape, size in zip(self.shapes, self.numbers, strict=True)
        )

    def request(self, length, batched):
        return self.page


def groups_of(specs):
    """get_kv_cache_groups: a list of (layer names, spec), equal pages, equally many layers."""
    mambas = [spec for spec in specs.values() if isinstance(spec, Mamba)]
    if mambas and len(mambas) < len(specs):
        # _align_hybrid_block_size: tokens are added in steps of 16 until an attention page holds a state.
        attention = next(spec for spec in specs.values() if isinstance(spec, Attention))
        while attention.page < mambas[0].page:
            attention = replace(attention, block=attention.block + 16)
        specs = {
            name: replace(spec, padded=attention.page)
            if isinstance(spec, Mamba)
            else replace(spec, block=attention.block)
            for name, spec in specs.items()
        }
    if len(set(specs.values())) == 1:
        return [(list(specs), next(iter(specs.values())))]
    kinds = {spec: [name for name in specs if specs[name] == spec] for spec in dict.fromkeys(specs.values())}
    fewest, most = min(map(len, kinds.values())), max(map(len, kinds.values()))
    size = most if most < fewest * 1.5 else fewest
    groups = []
    for spec, names in kinds.items():
        count = math.ceil(len(names) / size)
        groups += [(names[place::count], spec) for place in range(count)]
    return groups


def block_bytes(groups):
    """One pool block: the largest group's layers, one page each."""
    assert len(list(groupby(groups, lambda group: group[1].page))) == 1
    return max(len(names) for names, _ in groups) * groups[0][1].page


def request_bytes(groups, length, batched):
    """_max_memory_usage_bytes_from_groups."""
    return block_bytes(groups) * sum(math.ceil(spec.request(length, batched) / spec.page) for _, spec in groups)


def longest(groups, memory, most, batched):
    """_estimate_max_model_len_from_groups, by trying lengths one block at a time from above."""
    lengths = range(most, 0, -1)
    return next((length for length in lengths if request_bytes(groups, length, batched) <= memory), 0)
