"""The command that starts a guest: bubblewrap with nothing in it but an interpreter.

The guest sees the interpreter's own files and shared libraries read-only, the guests' modules of
this package, /dev/null, /dev/urandom, and a small /tmp of its own. It has no network, no other
process, no /proc (the kernel's figures of the machine are none of its business), no environment.
What bubblewrap has no option for, the guest does itself as it enters (`seal`).
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from pare_backends.sandbox.guest_limits import Limits
from pare_backends.sandbox.system_calls import AUDIT, filter_program

PACKAGE = Path(__file__).parent
INSIDE = "/pare/pare_backends/sandbox"
GUEST_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
"""A fixed seed: the order of a set must not decide a verdict."""
INSTALL = (
    "install it with `sudo apt-get install bubblewrap` (Debian, Ubuntu) or "
    "`sudo dnf install bubblewrap` (Fedora)"
)
ALLOW_NAMESPACES = (
    "allow user namespaces (`sudo sysctl kernel.unprivileged_userns_clone=1 "
    "kernel.apparmor_restrict_unprivileged_userns=0`, where the kernel has these; a container has "
    "to be started with them)"
)


def python_command(role: str, root: str, limits: Limits) -> list[str]:
    """Python on a guest's module with its limits, without site-packages, writing no byte code."""
    start = f"import sys; sys.path.insert(0, {root!r}); "
    start += f"from pare_backends.sandbox.{role} import main; main()"
    written = json.dumps(limits._asdict())
    return [os.path.realpath(sys.executable), "-s", "-S", "-B", "-P", "-c", start, written]


def bare_command(role: str, limits: Limits) -> list[str]:
    """The guest without a sandbox: only for a user who asked for it in so many words."""
    return python_command(role, str(PACKAGE.parents[1]), limits)


def guest_command(role: str, limits: Limits) -> list[str]:
    """The guest in its sandbox. Raises FileNotFoundError where bubblewrap has gone."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise FileNotFoundError("bwrap")
    words = [bwrap, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    words += ["--clearenv", "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534"]
    words += ["--hostname", "sandbox", "--cap-add", "CAP_SYS_ADMIN"]  # which `seal` gives up
    for path in interpreter_paths():
        words += ["--ro-bind", path, path]
    for path in packages_inside():
        words += ["--tmpfs", path, "--remount-ro", path]
    for device in ("/dev/null", "/dev/urandom"):
        words += ["--dev-bind", device, device]
    words += ["--tmpfs", "/tmp"]
    words += ["--ro-bind", str(PACKAGE), INSIDE, "--chdir", "/", "--remount-ro", "/"]
    library = python_library()
    linked = {} if library is None else {"LD_LIBRARY_PATH": str(Path(library).parent)}
    for name, value in {**GUEST_ENVIRONMENT, **linked}.items():
        words += ["--setenv", name, value]
    seccomp = (filter_program() or b"").hex()
    return [*words, "--", *python_command(role, "/pare", limits), seccomp]


@functools.cache
def interpreter_paths() -> tuple[str, ...]:
    """The interpreter's program, standard library and shared libraries: nothing of a user's."""
    multiarch = sysconfig.get_config_var("MULTIARCH")
    wanted = [
        os.path.realpath(sys.executable),
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        python_library(),
        f"/lib/{multiarch}" if multiarch else "/lib",
        f"/usr/lib/{multiarch}" if multiarch else "/usr/lib",
        "/lib/ld-linux-aarch64.so.1",
        "/lib64",
        "/usr/lib64",
    ]
    return tuple(dict.fromkeys(path for path in wanted if path and Path(path).exists()))


@functools.cache
def python_library() -> str | None:
    """libpython, where the interpreter is linked to one."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    folders = (sysconfig.get_config_var("LIBDIR") or "/", f"{sys.base_prefix}/lib")
    paths = (Path(folder, name) for folder in folders if ".so" in name)
    return next((str(path) for path in paths if path.exists()), None)


@functools.cache
def packages_inside() -> tuple[str, ...]:
    """Installed packages within the standard library's folder: hidden, as no problem needs them and
    a verdict must not depend on them."""
    folders = (Path(path, "site-packages") for path in interpreter_paths())
    return tuple(str(folder) for folder in folders if folder.is_dir())


def missing() -> str | None:
    """What is missing for a sandbox that can be seen without starting one, and what to do."""
    if sys.platform != "linux":
        return f"bubblewrap works on Linux alone, and this is {sys.platform}"
    if shutil.which("bwrap") is None:
        return f"bubblewrap is not installed: {INSTALL}"
    if filter_program() is None:
        known = " and ".join(AUDIT)
        return (
            f"the filter of system calls is written for {known}, and this is {os.uname().machine}"
        )
    return None


def refusal(said: str) -> str:
    """Why bubblewrap did not start, from its own words, and what to do."""
    line = next((one for one in said.splitlines() if one.startswith("bwrap")), said.strip()[:200])
    return f"bubblewrap makes no sandbox here ({line or 'it says nothing'}): {ALLOW_NAMESPACES}"
