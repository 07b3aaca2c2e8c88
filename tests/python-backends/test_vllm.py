"""What of the runtime vllm can be tried without a GPU: the bytes that it reads and keeps."""

from __future__ import annotations

import pytest
from runtime_fixtures import artifact, random_llama

from pare_backends.failures import CallFailure
from pare_backends.runtimes.registry import open_session
from pare_backends.runtimes.stored_weights import StoredWeights
from pare_backends.runtimes.vllm.session import cache_bytes, stored_bytes


def test_floats_are_read_as_float16() -> None:
    """The tied embedding is the output head: read whole."""
    weights = StoredWeights(str(random_llama(0)))
    assert stored_bytes(weights) == 2 * sum(weights.floats(n).size for n in weights.names())


def test_packed_weights_are_read_packed() -> None:
    four = stored_bytes(StoredWeights(str(artifact(4, 32, True, None))))
    eight = stored_bytes(StoredWeights(str(artifact(8, 32, True, None))))
    floats = stored_bytes(StoredWeights(str(random_llama(0))))
    linear = 2 * (64 * 64 * 2 + 64 * 32 * 2 + 64 * 96 * 3)  # weights of two layers
    assert eight - four == linear // 2
    assert floats - eight == linear - linear // 32 * 4


def test_cache_holds_keys_and_values_of_the_heads_that_are_kept() -> None:
    config = StoredWeights(str(random_llama(0))).config
    # 2 layers, keys and values, 2 heads of 16 numbers, 2 bytes each.
    assert cache_bytes(config, 10) == 10 * 2 * 2 * 2 * 16 * 2
    whole = {"num_attention_heads": 4, "hidden_size": 64, "num_hidden_layers": 1}
    assert cache_bytes(whole, 1) == 2 * 64 * 2


def test_vllm_is_missed_by_name() -> None:
    with pytest.raises((ModuleNotFoundError, CallFailure), match="vllm"):
        open_session("vllm", str(random_llama(0)), None, 1)
