"""Ends a process with the one that started it, by whatever death, and all that it started itself.

A program that heeds no parent of its own: `python -m pare_backends.supervised MODULE [WORD ...]`
runs `python -m MODULE [WORD ...]` so. Standard input is what its parent holds open.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Leads a process group that is killed whole when the parent dies, by whatever death.

    The kernel sends SIGHUP at the parent's death. `watch_stdin` sees the closed pipe too: it
    works where the kernel cannot, and while the main thread is inside a long call.
    """
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    signal.signal(signal.SIGHUP, lambda number, frame: kill_group())
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)


def kill_group() -> None:
    """Ends this process and all its children at once."""
    os.killpg(os.getpgrp(), signal.SIGKILL)


def watch_stdin() -> threading.Semaphore:
    """Kills the group when stdin closes: the client holds it open while it waits.

    returns: counts the lines that come from now on
    """
    lines = threading.Semaphore(0)

    def watch() -> None:
        while data := os.read(0, 4096):
            for _ in range(data.count(b"\n")):
                lines.release()
        kill_group()

    threading.Thread(target=watch, name="watch-stdin", daemon=True).start()
    return lines


if __name__ == "__main__":
    die_with_parent()
    watch_stdin()
    module, *words = sys.argv[1:]
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
