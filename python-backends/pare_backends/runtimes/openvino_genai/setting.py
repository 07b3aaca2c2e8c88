"""How openvino_genai keeps keys and values: the knobs that its plugin declares."""

from __future__ import annotations

from pare_backends.knobs import declared_knobs

BLOCK_TOKENS = 32
"""Tokens of a block of the cache on a CPU: what is kept, and let go of, at once."""
UNSAFE_EVICTIONS = ("adaptive_rkv",)


@declared_knobs
class Params:
    kv_precision: str
    eviction: str
    start_size: int
    recent_size: int
    max_cache_size: int
    score_window: int
    rotation: bool
    kvcrush_blocks: int
    sparse_prefill: str
    dense_tokens: int
    seen_start: int
    seen_recent: int
    threshold: float

    def label(self) -> str:
        """The setting in a few words, for sentences."""
        words = [f"a cache in {self.kv_precision}"]
        if self.eviction != "none":
            words.append(f"{self.eviction} eviction to {self.max_cache_size} tokens")
        if self.rotation:
            words.append("rotation")
        if self.kvcrush_blocks > 0:
            words.append(f"KVCrush of {self.kvcrush_blocks} blocks")
        if self.sparse_prefill != "none":
            words.append(f"{self.sparse_prefill} prefill")
        return ", ".join(words)

    def is_unsafe(self) -> bool:
        """Whether some versions of the library end the process with it."""
        return self.eviction != "none" and (self.rotation or self.eviction in UNSAFE_EVICTIONS)
