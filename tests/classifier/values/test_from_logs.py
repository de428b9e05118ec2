"""Values worked out from a log's facts: the number, its arithmetic, and what is asked for where a number is missing."""

import math
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_triage.classifier.values import _REGISTRY as REGISTRY
from vllm_triage.classifier.values import COMPUTED, PIECES, WORKED
from vllm_triage.classifier.values.computed import Computed, parse_bytes, short


def worked(function, /, **facts):
    return WORKED[function](facts)


def test_every_value_says_what_it_is_and_answers_without_facts():
    """Each is found by its mark, has a docstring, and names what is missing, or gives a reason."""
    assert len(WORKED) > 60
    for name, work in WORKED.items():
        module = import_module(f"vllm_triage.classifier.values.{REGISTRY[name][0]}")
        assert getattr(module, name).__doc__, name
        found = work({})
        assert isinstance(found, Computed), name
        assert COMPUTED[name]({}) == found.value


def test_pieces_are_those_that_are_marked_as_such():
    """What the log says is quoted in them; elsewhere it is quoted when it is put in."""
    assert sorted(PIECES) == [
        "accepted_value", "early_options", "gone_options", "into_model_folder", "meant_options", "misplaced_options",
    ]  # fmt: skip


class TestUtilization:
    def test_free_memory_with_its_margin(self):
        """The example of the issue, word for word."""
        found = worked("fit_gpu_memory_utilization", gpu_memory_free_gib=21.4, gpu_memory_total_gib=23.6)
        assert found.value == "0.88"
        assert found.formula == "free 21.4 GiB of 23.6 GiB, so at most 0.90; minus 0.02 margin → 0.88"
        assert found.inputs == {"gpu_memory_free_gib": 21.4, "gpu_memory_total_gib": 23.6}

    def test_missing_numbers_are_named(self):
        """Nothing is invented."""
        found = worked("fit_gpu_memory_utilization", gpu_memory_total_gib=23.6)
        assert (found.value, found.missing) == ("", ("gpu_memory_free_gib",))
        assert worked("fit_gpu_memory_utilization").missing == ("gpu_memory_free_gib", "gpu_memory_total_gib")

    def test_no_share_where_the_weights_need_more(self):
        """A share below the weights only moves the error."""
        found = worked("fit_gpu_memory_utilization", gpu_memory_free_gib=10, gpu_memory_total_gib=24, weights_gib=14.2)
        assert (found.value, "free the GPU first" in found.formula) == ("", True)

    @pytest.mark.parametrize(("free", "total"), [(0.5, 24), (0, 24), (25, 24), (-1, 24)])
    def test_no_share_where_nothing_is_free(self, free, total):
        """Too little, and figures that cannot be."""
        assert not worked("fit_gpu_memory_utilization", gpu_memory_free_gib=free, gpu_memory_total_gib=total)

    @given(total=st.floats(1, 300), part=st.floats(0, 1), weights=st.floats(0.1, 300) | st.none())
    def test_what_fits_passes_vllms_own_check(self, total, part, weights):
        """``free ≥ ceil(total × share)`` in bytes (request_memory), with at least the margin to spare."""
        free = total * part
        found = worked(
            "fit_gpu_memory_utilization", gpu_memory_free_gib=free, gpu_memory_total_gib=total, weights_gib=weights
        )
        if not found:
            return
        share = float(found.value)
        assert 0 < share < 1
        assert math.ceil(total * 2**30 * share) <= free * 2**30
        assert free / total - share >= 0.0199

    @given(total=st.floats(1, 300), free=st.floats(0, 300), more=st.floats(0, 100))
    def test_more_free_memory_never_gives_less(self, total, free, more):
        """Monotone in what is free."""
        shares = [
            float(worked("fit_gpu_memory_utilization", gpu_memory_free_gib=size, gpu_memory_total_gib=total).value or 0)
            for size in (min(free, total), min(free + more, total))
        ]
        assert shares[0] <= shares[1]

    def test_raised_by_what_is_missing(self):
        """7 GiB needed and 5.12 there on a GPU of 23.6 GiB: 0.08 more, and 0.01 margin."""
        found = worked(
            "raise_gpu_memory_utilization",
            gpu_memory_utilization=0.8,
            kv_cache_needed_gib=7.0,
            kv_cache_available_gib=5.12,
            gpu_memory_total_gib=23.6,
        )
        assert found.value == f"{math.ceil((0.8 + 1.88 / 23.6) * 100) / 100 + 0.01:.2f}" == "0.89"
        assert "0.8 + (7 - 5.12) GiB missing ÷ 23.6 GiB" in found.formula

    def test_raised_as_far_as_it_goes_and_no_further(self):
        """What is not enough alone says so."""
        found = worked(
            "raise_gpu_memory_utilization",
            gpu_memory_utilization=0.9,
            kv_cache_needed_gib=16.0,
            kv_cache_available_gib=5.0,
            gpu_memory_total_gib=24.0,
        )
        assert (found.value, "not enough alone" in found.formula) == ("0.97", True)

    def test_raised_no_further_than_what_is_free(self):
        """Another program holds part of the GPU."""
        found = worked(
            "raise_gpu_memory_utilization",
            gpu_memory_utilization=0.85,
            gpu_memory_free_gib=21.4,
            gpu_memory_total_gib=23.6,
        )
        assert found.value == "0.88"
        high = worked(
            "raise_gpu_memory_utilization",
            gpu_memory_utilization=0.9,
            gpu_memory_free_gib=21.4,
            gpu_memory_total_gib=23.6,
        )
        assert (high.value, "as high as it goes" in high.formula) == ("", True)

    @pytest.mark.parametrize(("version", "expected"), [("0.19.1", "0.93"), ("0.20.0", "0.95"), ("", "0.95")])
    def test_the_default_depends_on_the_release(self, version, expected):
        """0.9 up to 0.19, 0.92 since 0.20."""
        found = worked("raise_gpu_memory_utilization", vllm_version=version)
        assert (found.value, "vLLM's default" in found.formula) == (expected, True)

    def test_lowered_by_what_an_allocation_lacked(self):
        """2 GiB asked for, 0.5 free, 20 GiB in all: 0.075, and the margin."""
        found = worked(
            "lower_gpu_memory_utilization",
            gpu_memory_utilization=0.9,
            oom_tried="2.00 GiB",
            oom_free="512.00 MiB",
            oom_total="20.00 GiB",
        )
        assert found.value == f"{math.floor((0.9 - 1.5 / 20 - 0.02) * 100) / 100:.2f}" == "0.80"
        assert worked("lower_gpu_memory_utilization", gpu_memory_utilization=0.9).value == "0.85"

    @given(
        now=st.floats(0.01, 1) | st.none(),
        total=st.floats(0.1, 300) | st.none(),
        free=st.floats(-1, 300) | st.none(),
        needed=st.floats(0, 500) | st.none(),
        left=st.floats(-50, 300) | st.none(),
    )
    def test_up_is_up_and_down_is_down(self, now, total, free, needed, left):
        """Every share lies between 0 and 1, on the right side of what it was."""
        facts = {
            "gpu_memory_utilization": now,
            "gpu_memory_total_gib": total,
            "gpu_memory_free_gib": free,
            "kv_cache_needed_gib": needed,
            "kv_cache_available_gib": left,
        }
        up, down = COMPUTED["raise_gpu_memory_utilization"](facts), COMPUTED["lower_gpu_memory_utilization"](facts)
        assert not up or (now or 0.92) < float(up) <= 0.97
        assert not down or 0 < float(down) < (now or 0.92)


class TestContext:
    def test_vllms_own_estimate_goes_first(self):
        """Whatever else the log tells."""
        found = worked(
            "fit_max_model_len",
            max_len_that_fits=41936,
            max_model_len=131072,
            kv_cache_needed_gib=16,
            kv_cache_available_gib=5.12,
        )
        assert (found.value, found.formula) == ("41936", "vLLM's own estimate: 41936")

    def test_in_proportion_to_what_is_needed(self):
        """The same log without the estimate: a little less than it, in whole blocks, for the figures are rounded."""
        found = worked("fit_max_model_len", max_model_len=131072, kv_cache_needed_gib=16.0, kv_cache_available_gib=5.12)
        assert int(found.value) % 16 == 0
        assert 41936 * 0.998 < int(found.value) <= 41936

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"kv_cache_tokens": 38951, "max_model_len": 131072}, "38944"),
            ({"gpu_blocks": 845, "max_model_len": 32768}, "13520"),
            (
                {"kv_cache_available_gib": 4.75, "kv_bytes_per_token": 131072},
                str(int(4.745 * 2**30 / 131072) // 16 * 16),
            ),
        ],
    )
    def test_by_tokens_blocks_or_bytes(self, facts, expected):
        """What the cache holds, whichever way the log tells it."""
        assert worked("fit_max_model_len", **facts).value == expected

    @pytest.mark.parametrize(
        "facts",
        [
            {"kv_cache_tokens": 40000, "max_model_len": 32768},
            {"max_model_len": 4096, "kv_cache_needed_gib": 0.5, "kv_cache_available_gib": 5},
            {"max_model_len": 4096, "kv_cache_needed_gib": 0.5, "kv_cache_available_gib": -1},
            {"kv_cache_available_gib": 100, "kv_bytes_per_token": 1024, "max_model_len": 4096},
        ],
    )
    def test_no_value_where_all_fits_or_nothing(self, facts):
        """A context that is no change is no advice."""
        found = worked("fit_max_model_len", **facts)
        assert (found.value, found.missing) == ("", ())
        assert found.formula

    def test_missing_numbers_are_named(self):
        """Bytes per token are not guessed."""
        assert worked("fit_max_model_len", kv_cache_available_gib=5.0).missing == ("kv_bytes_per_token",)

    @given(length=st.integers(1, 2_000_000), per_token=st.integers(64, 1_000_000), part=st.floats(0.001, 0.999))
    def test_what_is_proposed_fits(self, length, per_token, part):
        """With uniform attention, from figures as vLLM prints them: rounded to two decimals."""
        needed = -(-length // 16) * 16 * per_token
        left = int(needed * part)
        facts = {
            "max_model_len": length,
            "kv_cache_needed_gib": round(needed / 2**30, 2),
            "kv_cache_available_gib": round(left / 2**30, 2),
        }
        found = COMPUTED["fit_max_model_len"](facts)
        assert not found or -(-int(found) // 16) * 16 * per_token <= left * 1.0001 + 16 * per_token


class TestTensorParallel:
    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"gpu_count": 4, "tensor_parallel_size": 1}, "2"),
            ({"gpu_count": 4}, "2"),
            ({"gpu_count": 8, "tensor_parallel_size": 2, "num_attention_heads": 40}, "4"),
            ({"gpu_count": 8, "tensor_parallel_size": 4, "num_attention_heads": 28}, ""),
            ({"gpu_count": 8, "tensor_parallel_size": 4, "num_attention_heads": 28, "num_key_value_heads": 28}, "7"),
            ({"gpu_count": 8, "tensor_parallel_size": 4, "num_attention_heads": 28, "num_key_value_heads": 4}, ""),
            ({"gpu_count": 8, "tensor_parallel_size": 2, "num_attention_heads": 32, "num_key_value_heads": 2}, "4"),
            ({"gpu_count": 2, "tensor_parallel_size": 4}, "2"),
            ({"gpu_count": 3, "tensor_parallel_size": 4}, "2"),
            ({"gpu_count": 3, "world_size": 4}, "2"),
            ({"gpu_count": 8, "tensor_parallel_size": 3, "num_heads": 32}, "2"),
            ({"tensor_parallel_size": 6, "num_heads": 32}, "4"),
            ({"gpu_count": 1, "tensor_parallel_size": 1}, ""),
            ({"gpu_count": 8, "tensor_parallel_size": 4, "pipeline_parallel_size": 2}, ""),
            ({"gpu_count": 16, "tensor_parallel_size": 4, "pipeline_parallel_size": 2}, "8"),
        ],
    )
    def test_next_size(self, facts, expected):
        """Up where a larger one fits the GPUs, down where the one asked for cannot work."""
        assert worked("fit_tensor_parallel_size", **facts).value == expected

    def test_the_vocabulary_must_divide(self):
        """151936 padded to a multiple of 64 is no multiple of 3, so 6 ranks fail although 48 heads divide."""
        found = worked(
            "fit_tensor_parallel_size",
            gpu_count=7,
            tensor_parallel_size=4,
            num_attention_heads=48,
            num_key_value_heads=48,
            vocab_size=151936,
        )
        assert not found
        assert (
            worked(
                "fit_tensor_parallel_size",
                gpu_count=7,
                tensor_parallel_size=4,
                num_attention_heads=48,
                num_key_value_heads=48,
            ).value
            == "6"
        )

    def test_the_number_of_gpus_is_asked_for(self):
        """How far up is not guessed."""
        assert worked("fit_tensor_parallel_size", tensor_parallel_size=1, num_heads=32).missing == ("gpu_count",)

    @given(
        heads=st.integers(1, 256),
        kv=st.integers(1, 64),
        gpus=st.integers(1, 64) | st.none(),
        asked=st.integers(1, 128) | st.none(),
        name=st.sampled_from(["fit", "raise", "lower"]),
    )
    def test_every_size_divides_and_fits(self, heads, kv, gpus, asked, name):
        """Whatever is proposed divides the heads, divides or replicates the KV heads, and has its GPUs."""
        facts = {
            "num_attention_heads": heads,
            "num_key_value_heads": kv,
            "gpu_count": gpus,
            "tensor_parallel_size": asked,
        }
        found = COMPUTED[f"{name}_tensor_parallel_size"](facts)
        if not found:
            return
        size = int(found)
        assert heads % size == 0
        assert kv % size == 0 or size % kv == 0
        assert gpus is None or size <= gpus
        assert size != (asked or 1)


class TestBatch:
    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"max_num_seqs": 64}, "32"),
            ({}, "128"),
            ({"gpu_memory_total_gib": 79.2, "vllm_version": "0.11.0"}, "512"),
            ({"gpu_memory_total_gib": 79.2, "vllm_version": "0.11.0", "gpu_name": "NVIDIA A100-SXM4-80GB"}, "128"),
            ({"gpu_memory_total_gib": 79.2, "vllm_version": "0.7.3"}, "128"),
            ({"max_num_seqs": 1}, ""),
        ],
    )
    def test_half_the_sequences(self, facts, expected):
        """Of what was given, else of the default for that GPU and release."""
        assert worked("halve_max_num_seqs", **facts).value == expected

    def test_sequences_that_the_cache_holds(self):
        """By vLLM's concurrency, else by tokens."""
        assert worked("fit_max_num_seqs", max_concurrency=3.64).value == "3"
        assert worked("fit_max_num_seqs", kv_cache_tokens=59712, max_model_len=16384).value == "3"
        assert worked("fit_max_num_seqs", kv_cache_tokens=59712).missing == ("max_model_len",)
        assert not worked("fit_max_num_seqs", max_concurrency=0.4)

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"max_num_batched_tokens": 8192, "max_num_seqs": 256}, "4096"),
            ({"max_num_batched_tokens": 300, "max_num_seqs": 256}, "256"),
            ({"max_num_batched_tokens": 256, "max_num_seqs": 256}, ""),
            ({"vllm_version": "0.19.1"}, "1024"),
            ({"vllm_version": "0.6.6", "max_model_len": 8192}, ""),
            (
                {
                    "max_num_batched_tokens": 16384,
                    "max_model_len": 12000,
                    "arguments": {"enable_chunked_prefill": False},
                },
                "12000",
            ),
        ],
    )
    def test_half_the_tokens(self, facts, expected):
        """Not below the number of sequences, nor below the context where prefill is not chunked."""
        assert worked("halve_max_num_batched_tokens", **facts).value == expected


class TestSizes:
    @pytest.mark.parametrize(
        ("model", "expected"),
        [
            ("meta-llama/Llama-3.1-70B-Instruct", 70),
            ("Qwen/Qwen3-30B-A3B", 30),
            ("Qwen/Qwen2.5-0.5B", 0.5),
            ("/models/qwen2.5_7b_instruct/", 7),
            ("mistralai/Mixtral-8x7B-v0.1", 47.04),
            ("meta-llama/Llama-4-Scout-17B-16E", None),
            ("allenai/OLMoE-1B-7B-0924", None),
            ("google/gemma-3n-E4B-it", None),
            ("acme/model-4bit", None),
            ("deepseek-ai/DeepSeek-V3", None),
        ],
    )
    def test_parameters_by_name(self, model, expected):
        """Names that tell one size; active parameters and bits are none."""
        from vllm_triage.classifier.values.sizes import parameters_by_name

        assert parameters_by_name(model) == (pytest.approx(expected) if expected else None)

    def test_no_flag_fixes_what_is_larger_than_all_gpus(self):
        """The seeds' fourth cause: 70 billion at 16 bits on one GPU of 80 GiB."""
        found = worked("no_flag_fixes", model="acme/Giant-70B", gpu_memory_total_gib=80.0, gpu_count=1)
        assert found.value == "No flag fixes this: weights 130 GiB, one GPU of 80 GiB."
        assert "70 billion parameters by the name × 2 bytes" in found.formula
        assert not worked("no_flag_fixes", model="acme/Giant-70B", gpu_memory_total_gib=80.0, gpu_count=2)

    @pytest.mark.parametrize(
        ("facts", "expected"),
        [
            ({"model": "a/B-70B", "gpu_count": 4}, "--tensor-parallel-size 2"),
            ({"model": "a/B-70B", "gpu_count": 1}, "an FP8 or 8-bit checkpoint of the same model"),
            ({"model": "a/B-130B", "gpu_count": 1}, "a 4-bit checkpoint (AWQ, GPTQ, w4a16) of the same model"),
            ({"model": "a/B-405B-FP8", "gpu_count": 2}, "8 × 80 GiB of GPU memory and --tensor-parallel-size 8"),
            ({"model": "a/B-7B"}, ""),
            ({"weights_gib": 60.0, "tensor_parallel_size": 2, "gpu_count": 2}, ""),
        ],
    )
    def test_smallest_change(self, facts, expected):
        """GPUs that are there go before another checkpoint, that before GPUs to buy."""
        assert worked("smallest_change_that_fits", gpu_memory_total_gib=80.0, **facts).value == expected

    def test_a_format_of_unknown_width_is_asked_for(self):
        """A GGUF file's size cannot be told from its name."""
        found = worked("smallest_change_that_fits", model="a/B-7B", quantization="gguf", gpu_memory_total_gib=24.0)
        assert found.missing == ("weights_gib",)
        assert worked("no_flag_fixes").missing == ("weights_gib", "model", "gpu_memory_total_gib")

    @given(
        billions=st.integers(1, 2000),
        total=st.floats(4, 300),
        gpus=st.integers(1, 16),
        heads=st.sampled_from([28, 32, 40, 64, 128]) | st.none(),
    )
    def test_the_change_does_fit(self, billions, total, gpus, heads):
        """With the size proposed, each GPU's share is below its budget."""
        facts = {
            "model": f"a/b-{billions}B",
            "gpu_memory_total_gib": total,
            "gpu_count": gpus,
            "num_attention_heads": heads,
        }
        found = COMPUTED["smallest_change_that_fits"](facts)
        weights = billions * 1e9 * 2 / 2**30
        if "--tensor-parallel-size" in found and "checkpoint" not in found:
            assert weights / int(found.rpartition(" ")[2]) <= total * 0.92 * 1.02


@pytest.mark.parametrize(
    ("port", "expected"), [(8000, "8001"), ("8080", "8081"), (None, "8001"), (65535, "8001"), (-1, "8001"), ("x", "")]
)
def test_another_port(port, expected):
    """The next one, within the range of ports."""
    assert worked("free_port", port=port).value == expected


@pytest.mark.parametrize(
    ("model", "repository", "folder"),
    [
        ("acme/llm-7b", "acme/llm-7b", ""), ("/models/llm", "", "/models/llm"), ("./out", "", "./out"), ("~/llm", "", "~/llm"),
        ("", "", ""), ("a/b/c", "", ""), ("acme/llm; rm -rf /", "", ""), ("s3://bucket/llm", "", ""), ("llm", "", ""), ("/a b", "", ""),
    ],
)  # fmt: skip
def test_a_name_that_a_command_may_hold(model, repository, folder):
    """A repository and a folder are told apart, and nothing that a shell would read otherwise gets into a command."""
    assert (repository, folder) == (
        worked("hub_repository", model=model).value,
        worked("model_folder", model=model).value,
    )


@pytest.mark.parametrize(
    ("needed", "octets", "gib"),
    [
        ("2.0", str(2059 * 2**20), "3"),
        (0.98, str(1014 * 2**20), "1"),
        ("16.5", str(16907 * 2**20), "17"),
        (None, "", ""),
        ("0", "", ""),
    ],
)
def test_the_size_of_a_cache_that_is_fixed_by_hand(needed, octets, gib):
    """In bytes for a GPU, in whole GiB for the CPU backend; both hold the request at least."""
    assert worked("fit_kv_cache_memory_bytes", kv_cache_needed_gib=needed).value == octets
    assert worked("fit_cpu_kvcache_space", kv_cache_needed_gib=needed).value == gib


@pytest.mark.parametrize(
    ("rank", "version", "expected"),
    [
        (48, "0.9.2", "64"), (64, "0.9.2", "64"), (65, "", "128"), (4, "0.11.0", "8"), (1, "0.11.1", "1"), (4, "0.33.0", "8"),
        (128, "0.5.4", ""), (128, "0.5.5", "128"), (300, "0.7.3", ""), (300, "0.8.0", "320"), (600, "", ""), (0, "", ""),
    ],
)  # fmt: skip
def test_a_rank_that_the_release_accepts(rank, version, expected):
    """The sizes are those of LoRAConfig, release by release."""
    assert worked("fit_max_lora_rank", lora_rank=rank, vllm_version=version).value == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24GiB", 24 << 30),
        ("24", 24 << 30),
        ("14.5 GiB", int(14.5 * 2**30)),
        ("80GB", 80 * 10**9),
        ("512.00 MiB", 512 << 20),
        ("1,024 KiB", 1 << 20),
        ("2TiB", 2 << 40),
        ("100B", 100),
        ("24Gi", 24 << 30),
        ("", None),
        ("GiB", None),
        ("-1GiB", None),
        ("nan", None),
        ("inf", None),
        ("24 apples", None),
        ("1GiBGiB", None),
    ],
)
def test_sizes_in_words(text, expected):
    """GiB is 2 to the 30th, GB 10 to the 9th; a bare number means GiB."""
    assert parse_bytes(text) == expected


@given(st.text(max_size=12))
def test_any_text_is_a_size_or_none(text):
    """Never negative, never an error."""
    found = parse_bytes(text)
    assert found is None or found >= 0


def test_large_numbers_stay_readable():
    """No powers of ten in a sentence."""
    assert (short(1250.0), short(99.96), short(14.187)) == ("1250", "100", "14.2")


NAMES_OF_FACTS = (
    "max_model_len",
    "max_len_that_fits",
    "kv_cache_needed_gib",
    "kv_cache_available_gib",
    "kv_cache_tokens",
    "gpu_blocks",
    "kv_bytes_per_token",
    "gpu_memory_utilization",
    "gpu_memory_free_gib",
    "gpu_memory_total_gib",
    "weights_gib",
    "oom_tried",
    "oom_free",
    "oom_total",
    "gpu_count",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "world_size",
    "num_heads",
    "num_attention_heads",
    "vocab_size",
    "max_num_seqs",
    "max_num_batched_tokens",
    "max_concurrency",
    "port",
    "model",
    "dtype",
    "quantization",
    "vllm_version",
    "gpu_name",
    "engine",
    "arguments",
)
JUNK = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.lists(st.integers(), max_size=2)
)


@given(name=st.sampled_from(sorted(COMPUTED)), data=st.data())
def test_any_facts_give_text(name, data):
    """Whatever stands in the facts: text, a formula, and no number that is not one."""
    facts = {
        key: data.draw(JUNK, label=key)
        for key in data.draw(st.lists(st.sampled_from(NAMES_OF_FACTS), max_size=10, unique=True))
    }
    found = WORKED[name](facts)
    assert isinstance(found, Computed)
    assert COMPUTED[name](facts) == found.value
    assert found.formula or found.value
    assert not (found.value and found.missing)
    assert not any(word in found.value for word in ("nan", "inf", "-1", "e+"))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"gpu_name": "NVIDIA GB10"}, "NVIDIA GB10"),
        ({"gpu_name": "NVIDIA GH200 480GB"}, "NVIDIA GH200 480GB"),
        ({"gpu_name": "NVIDIA H100 80GB HBM3", "gpu_memory_total_gib": 119.7}, ""),
        ({"gpu_memory_total_gib": 119.7}, "a machine of 119.7 GiB (DGX Spark, Jetson Thor)"),
        ({"gpu_memory_total_gib": 139.8}, ""),
        ({}, ""),
    ],
)
def test_machines_that_share_memory(facts, expected):
    """By name; where the log tells none, by a size that no card has."""
    assert expected == WORKED["unified_memory"](facts).value
