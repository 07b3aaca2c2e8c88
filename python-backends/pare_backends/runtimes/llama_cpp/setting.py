"""How llama.cpp computes a file, where that can be set: the knobs that its plugin declares."""

from __future__ import annotations

from pare_backends.knobs import declared_knobs


@declared_knobs
class Params:
    kv_precision: str
    flash_attention: bool
    threads: int
    repack: bool

    def label(self) -> str:
        """The setting in a few words, for sentences."""
        words = [f"a cache in {self.kv_precision}"]
        if self.flash_attention:
            words.append("flash attention")
        if not self.repack:
            words.append("weights as they lie in the file")
        return ", ".join(words)
