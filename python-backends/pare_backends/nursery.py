"""Forks workers of one process that has the slow imports behind it.

Reads orders on stdin, a line of JSON each, and writes what becomes of them on stdout (`Order`,
`python-backends/worker/nursery.ts`). A worker is a process of its own, as if it had been started
fresh: its stdin and stdout are a connection to the order's socket, its stderr the order's log. Only
imports happen here, and no thread outlives them, so that a fork has nothing to inherit but modules.
When stdin ends, no more are forked; this process ends with the last of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pare_backends import worker
from pare_backends.offline import guard
from pare_backends.prepare_imports import import_all
from pare_backends.protocol import EventWriter
from pare_backends.supervised import die_with_parent


@dataclass(frozen=True)
class Order:
    """One worker to be forked."""

    order: int
    socket: str
    """Where its requests come from and its events go."""
    log: str
    folder: str
    """For its temporary files."""
    imports: str
    """A name of `PRELOADS`: what this worker and every later one find done."""


class Nursery:
    """The workers that were forked here, and who is told of them."""

    def __init__(self) -> None:
        self._events = os.dup(1)
        os.set_inheritable(self._events, False)
        os.dup2(2, 1)
        self.tell = EventWriter(self._events)
        self._woken, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._selector = selectors.DefaultSelector()
        self._living = 0
        self._imported: set[str] = set()

    def run(self) -> None:
        """Forks what is ordered until stdin ends and the last worker has."""
        signal.set_wakeup_fd(self._wake)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._selector.register(0, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        ordered = bytearray()
        while self._living > 0 or 0 in self._selector.get_map():
            for key, _ in self._selector.select():
                data = os.read(key.fd, 65536)
                if key.fd == self._woken:
                    self._reap()
                elif data:
                    ordered += data
                else:
                    self._selector.unregister(0)
            *lines, ordered = ordered.split(b"\n")
            for line in lines:
                self._fork(Order(**json.loads(line)))

    def import_once(self, preload: str) -> None:
        """The imports of that name, where they are not done yet."""
        if preload not in self._imported:
            import_alone(preload)
            self._imported.add(preload)

    def _fork(self, order: Order) -> None:
        self.import_once(order.imports)
        pid = os.fork()
        if pid == 0:
            self._be_a_worker(order)
        # Here as well as in the worker: whoever is told of it may end its group at once.
        with contextlib.suppress(OSError):  # it has done so, or has ended
            os.setpgid(pid, pid)
        self._living += 1
        self.tell({"event": "forked", "order": order.order, "pid": pid})

    def _be_a_worker(self, order: Order) -> NoReturn:
        """In the forked process: another process in all that follows."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            for descriptor in (self._events, self._woken, self._wake):
                os.close(descriptor)
            log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(log, 2)
            os.close(log)
            os.environ["TMPDIR"] = order.folder
            tempfile.tempdir = None
            worker.begin(supervised=True)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(order.socket)
                os.dup2(connection.fileno(), 0)
                os.dup2(connection.fileno(), 1)
            status = worker.serve(worker.take_stdout(), 0.0, supervised=True)
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        """Tells of the workers that have ended."""
        while self._living > 0:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._living -= 1
            killed = os.WIFSIGNALED(status)
            self.tell(
                {
                    "event": "exited",
                    "pid": pid,
                    "code": None if killed else os.WEXITSTATUS(status),
                    "signal": signal.Signals(os.WTERMSIG(status)).name if killed else None,
                }
            )


NO_THREADS = {
    "OPENBLAS_NUM_THREADS": "1",  # numpy's threads would wait here
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's memory manager would start one
}
"""Variables that are read once, where what they are for is loaded."""


def import_alone(preload: str) -> None:
    """The imports of that name, in this thread, and no other thread beside it.

    A fork inherits every lock as it stands. A thread that has called MKL takes all locks of MKL's
    memory manager once more while it ends, which is after it was joined: of processes forked at
    that moment one in sixty stood for ever in a matrix product (`mm_account_ptr_by_tid`).
    """
    asked = {name: os.environ.get(name) for name in NO_THREADS}
    os.environ.update(NO_THREADS)
    import_all(preload)
    for name, value in asked.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads > 1:
        raise RuntimeError(
            f"workers cannot be forked of a process of {threads} threads: an import of {preload} "
            "started one that goes on; set PARE_NURSERY=0 to start each call's process afresh"
        )


def main() -> NoReturn:
    """Imports, `ready`, then forks."""
    started = time.perf_counter()
    nursery = Nursery()
    die_with_parent()
    guard()
    nursery.import_once("torch")
    seconds = time.perf_counter() - started
    nursery.tell({"event": "ready", "pid": os.getpid(), "imports_seconds": seconds})
    nursery.run()
    os._exit(0)


if __name__ == "__main__":
    main()
