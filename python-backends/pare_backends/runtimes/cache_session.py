"""What a runtime gives whose cache of keys and values can be set: `caches.py` of its folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from pare_backends.runtimes.session import Numerics


class CacheSession(Protocol):
    """A loaded model whose cache is kept by one setting. One sequence at a time; greedy, and an end
    mark does not stop."""

    numerics: Numerics

    def begin(self, prompt: np.ndarray) -> int:
        """Ends the sequence before and reads a prompt; the first new token. prompt: (n,) int64"""
        ...

    def next(self) -> int:
        """The token after the last one."""
        ...

    def cache_bytes(self) -> int:
        """Of what the sequence holds now."""
        ...

    def close(self) -> None:
        """Gives its memory back; it cannot be used again."""
        ...


class Caches(AbstractContextManager["Caches"], Protocol):
    """An artifact that is opened under one setting of the cache after the other."""

    version: str  # of the library
    bytes_method: str  # how bytes of a cache are read

    def obstacle(self, values: Mapping[str, Any]) -> str | None:
        """Why a setting cannot be measured here, as the end of a sentence; None: it can.

        values: of knobs, as the runtime's plugin declares them
        """
        ...

    def open(self, values: Mapping[str, Any], tokens: int) -> CacheSession:
        """tokens: of the longest prompt with what is generated after it"""
        ...


class DecodedCache(ABC):
    """The part of `CacheSession` that follows from a decoder which gives logits."""

    _token: int

    @abstractmethod
    def _reset(self) -> None:
        """Forgets the sequence."""

    @abstractmethod
    def _last_logits(self, tokens: np.ndarray) -> np.ndarray:
        """Appends tokens (n,) int64. returns: (vocabulary,) of the last one"""

    def begin(self, prompt: np.ndarray) -> int:
        self._reset()
        self._token = int(self._last_logits(prompt).argmax())
        return self._token

    def next(self) -> int:
        self._token = int(self._last_logits(np.array([self._token], np.int64)).argmax())
        return self._token


class OpenedCaches:
    """The part of `Caches` of what holds nothing beside its sessions."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def why_no_threads(asked: int, there: int) -> str | None:
    """Why so many threads cannot be had, as the end of a sentence. there: a call's own"""
    return None if asked <= there else f"threads is {asked}, and a call here has {there}"
