"""The last steps of shutting a guest in, for which bubblewrap has no option. The guest takes them
itself, with the one capability that bubblewrap leaves it within its own namespaces, before it
meets any code; one that fails at a step never starts.

- The host's device nodes become read-only. A guest of root's owns them, so it could change the
  mode, the owner and the times of the host's own /dev/null.
- Its /tmp holds so many bytes and so many files: the kernel's own memory for a file counts as none
  of its bytes. Linux 6.6 and newer count extended attributes as files; none lets them be set.
- It gives its capability up, and asks for the filter of system calls, which refuses all of this.
"""

from __future__ import annotations

import ctypes
import os

from pare_backends.sandbox.guest_limits import Limits

READ_ONLY, REMOUNT, BIND = 0x1, 0x20, 0x1000
KEPT = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC
"""Flags that a mount may not lose; `statvfs` and `mount` number them alike."""
CAPABILITIES_VERSION_3 = 0x20080522
SET_SECCOMP, FILTER_MODE = 22, 2
DEVICES = ("/dev/null", "/dev/urandom")

_libc = ctypes.CDLL(None, use_errno=True)


class _Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("steps", ctypes.c_ushort), ("program", ctypes.c_char_p))


def seal(limits: Limits, seccomp: bytes) -> None:
    """Shuts this process in for good. `seccomp`: `system_calls.filter_program`. Raises OSError."""
    for device in DEVICES:
        _mount(device, READ_ONLY | REMOUNT | BIND | os.statvfs(device).f_flag & KEPT, None)
    held = f"size={limits.temporary_bytes},nr_inodes={limits.temporary_files}"
    _mount("/tmp", REMOUNT | os.statvfs("/tmp").f_flag & KEPT, held.encode())
    nothing = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; two words of each
    _done(_libc.capset((ctypes.c_uint32 * 2)(CAPABILITIES_VERSION_3, 0), nothing), "capset")
    whole = _Filter(len(seccomp) // 8, seccomp)
    _done(_libc.prctl(SET_SECCOMP, FILTER_MODE, ctypes.byref(whole), 0, 0), "seccomp")


def _mount(path: str, flags: int, data: bytes | None) -> None:
    _done(_libc.mount(None, path.encode(), None, ctypes.c_ulong(flags), data), f"mount {path}")


def _done(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
