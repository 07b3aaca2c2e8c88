"""Bytes in fewer bytes where some are more frequent than others: DEFLATE's Huffman codes
(RFC 1951), which every platform's zlib writes and reads.

Huffman codes alone for planes whose neighbours tell nothing of each other, such as weights'; with
runs for those of nearly one value. A stream is the planes in their order, each behind its length.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

LEVEL = 9
MEMORY = 9  # the longest blocks: fewest tables
STRATEGIES = (zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE)
"""Each plane is written by the one that takes fewer bytes; both read alike."""
LENGTH_BYTES = 8


def encode_planes(planes: Sequence[np.ndarray]) -> np.ndarray:
    """Planes of bytes as one stream. planes: (n,) uint8 each; returns: (bytes,) uint8"""
    parts: list[bytes] = []
    for plane in planes:
        raw = np.ascontiguousarray(plane).tobytes()
        best = min((deflated(raw, strategy) for strategy in STRATEGIES), key=len)
        parts += [len(best).to_bytes(LENGTH_BYTES, "little"), best]
    return np.frombuffer(b"".join(parts), dtype=np.uint8)


def deflated(raw: bytes, strategy: int) -> bytes:
    """Without zlib's own header and checksum: files are hashed as a whole."""
    coder = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, MEMORY, strategy)
    return coder.compress(raw) + coder.flush()


def decode_planes(stream: np.ndarray, count: int, size: int) -> list[np.ndarray]:
    """What `encode_planes` was given.

    count: planes; size: bytes of each
    raises: ValueError in words where the stream is not one of so many planes and bytes
    """
    data, at, planes = stream.tobytes(), 0, []
    for _ in range(count):
        length = int.from_bytes(data[at : at + LENGTH_BYTES], "little")
        at += LENGTH_BYTES
        if at + length > len(data):
            raise ValueError(f"a plane of {length} bytes ends behind the {len(data)} there are")
        decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            # One byte more is let through, so that a longer plane is seen and not cut.
            raw = decoder.decompress(data[at : at + length], size + 1)
        except zlib.error as error:
            raise ValueError(f"a plane cannot be decoded ({error})") from error
        if len(raw) != size or not decoder.eof:
            raise ValueError(f"a plane has {len(raw)} bytes or more in place of {size}")
        planes.append(np.frombuffer(raw, dtype=np.uint8))
        at += length
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes are left over")
    return planes
