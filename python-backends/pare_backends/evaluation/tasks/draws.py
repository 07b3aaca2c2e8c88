"""Numbers that are drawn the same for ever: by SHA-256, not by a library's generator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator


def draws(label: str) -> Iterator[int]:
    """Whole numbers below 2^32 without end, the same for a label on every machine."""
    block = 0
    while True:
        digest = hashlib.sha256(f"{label}/{block}".encode()).digest()
        for start in range(0, 32, 4):
            yield int.from_bytes(digest[start : start + 4], "big")
        block += 1
