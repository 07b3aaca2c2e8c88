"""One request to a server and its whole reply: within a time that holds for all of it, and never
more of it in memory than was asked for.

httpx limits each read alone, so a server that sends a byte a second would be listened to for ever.
Here a task of an event loop is ended at its deadline, wherever it stands: name, connection, headers
or body.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import zlib
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass

import httpx

CONNECT_SECONDS = 10.0
REFUSAL_BYTES = 64 * 1024
"""Of a reply that is no answer: its first words are quoted, the rest is not read."""
COMPRESSED = ("gzip", "x-gzip", "deflate")
ZLIB_OR_GZIP = zlib.MAX_WBITS | 32


@dataclass(frozen=True)
class Reply:
    """A reply that came whole, or the beginning of one that refuses."""

    status: int
    reason: str
    headers: httpx.Headers
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", errors="replace")


class TooSlow(Exception):
    """The reply was not whole in time; says how much of it came."""

    def __init__(self, received: int | None) -> None:
        super().__init__()
        self.received = received
        """Bytes of the body; None: not even the headers were whole."""


class TooLong(Exception):
    """The reply is longer than its limit."""


class Unreadable(Exception):
    """The reply is compressed in a way that was not asked for, or its compression is broken."""


class Ended(Exception):
    """Another thread ended the requests."""


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop that every connection of this process lives in."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="served-http", daemon=True).start()
    return loop


class Exchanges:
    """Requests with these headers; may be used by several threads. No redirect is followed: a key
    would go along."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._client = httpx.AsyncClient(
            headers={
                **headers,
                "accept-encoding": "identity",
                "content-type": "application/json",
            },
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None),
            follow_redirects=False,
        )
        self._running: set[Future[Reply]] = set()
        self._lock = threading.Lock()

    def ask(self, method: str, url: str, body: bytes | None, seconds: float, limit: int) -> Reply:
        """The reply, whole within `seconds` and of at most `limit` bytes. Raises `TooSlow`,
        `TooLong`, `Unreadable`, `Ended` and httpx's `TransportError`."""
        future = asyncio.run_coroutine_threadsafe(
            self._within(seconds, method, url, body, limit), _loop()
        )
        with self._lock:
            self._running.add(future)
        try:
            return future.result()
        except CancelledError as error:
            raise Ended from error
        finally:
            with self._lock:
                self._running.discard(future)

    def end(self) -> None:
        """Ends every request that runs."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()

    async def _within(
        self, seconds: float, method: str, url: str, body: bytes | None, limit: int
    ) -> Reply:
        pieces: list[bytes] = []
        begun = False
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream(method, url, content=body) as response,
            ):
                begun = True
                whole = response.status_code < 300
                await _receive(response, pieces, limit if whole else REFUSAL_BYTES, cut=not whole)
        except TimeoutError:
            raise TooSlow(sum(map(len, pieces)) if begun else None) from None
        content = _plain(b"".join(pieces), response.headers, limit)
        return Reply(response.status_code, response.reason_phrase, response.headers, content)


async def _receive(response: httpx.Response, pieces: list[bytes], limit: int, cut: bool) -> None:
    """Takes the body as it comes over the wire; at its limit it is cut, or fails."""
    left = limit
    async for piece in response.aiter_raw():
        if len(piece) > left and not cut:
            raise TooLong
        pieces.append(piece[:left])
        left -= len(pieces[-1])
        if left == 0 and cut:
            return


def _plain(content: bytes, headers: httpx.Headers, limit: int) -> bytes:
    """The body without its compression, of at most `limit` bytes: a server may compress though it
    was asked not to, and a thousand bytes may stand for a million."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return content
    if encoding not in COMPRESSED:
        raise Unreadable(f"it is compressed by {encoding}, which was not asked for")
    try:
        plain = zlib.decompressobj(ZLIB_OR_GZIP).decompress(content, limit + 1)
    except zlib.error as error:
        raise Unreadable("its compression is broken") from error
    if len(plain) > limit:
        raise TooLong
    return plain
