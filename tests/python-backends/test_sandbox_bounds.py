"""What a guest shares with its machine, and what it can hold of it."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pare_backends.sandbox import bubblewrap, guest, seal
from pare_backends.sandbox import verdict as judge
from pare_backends.sandbox.guest_limits import Limits
from pare_backends.sandbox.room import Room
from pare_backends.sandbox.verdict import CodeTest, Verdict, sandbox_problem

needs_sandbox = pytest.mark.skipif(sandbox_problem() is not None, reason=str(sandbox_problem()))
KILLED = Verdict(False, "the candidate was killed: it asked for what a sandbox does not give")


@pytest.fixture
def devices() -> Iterator[None]:
    """Puts the machine's own devices back, should an attack on them succeed."""
    were = {Path(device): Path(device).stat() for device in seal.DEVICES}
    yield
    for device, was in were.items():
        if device.stat().st_mode != was.st_mode:
            device.chmod(stat.S_IMODE(was.st_mode))
        if device.stat().st_uid != was.st_uid:
            os.chown(device, was.st_uid, was.st_gid)


def shared() -> Iterator[Path]:
    """What a guest can see of the machine: every folder, and some files of each."""
    for top in (*bubblewrap.interpreter_paths(), *seal.DEVICES, str(bubblewrap.PACKAGE)):
        yield Path(top)
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if name != "site-packages"]  # hidden there
            yield from (Path(folder, name) for name in (*folders, *sorted(files)[:2]))


def state(path: Path) -> tuple[Any, ...]:
    """All that a guest could change of a file but its times of reading, which the host moves."""
    it = path.lstat()
    extended = {one: os.getxattr(path, one) for one in os.listxattr(path, follow_symlinks=False)}
    changed = () if stat.S_ISDIR(it.st_mode) else (it.st_mtime_ns, it.st_ctime_ns)
    return it.st_mode, it.st_uid, it.st_gid, it.st_nlink, it.st_size, *changed, extended


# Of the same files in the sandbox, all that can be done to one; whatever succeeds is told.
BATTERY = """
import os
def tried(path):
    yield "chmod", lambda: os.chmod(path, 0o667)
    yield "chown", lambda: os.chown(path, os.getuid(), os.getgid())
    yield "utime", lambda: os.utime(path, (1, 1))
    yield "link", lambda: os.link(path, "/tmp/linked")
    yield "rename", lambda: os.rename(path, path + "~")
    yield "truncate", lambda: os.truncate(path, 0)
    yield "remove", lambda: os.unlink(path) if os.path.isfile(path) else os.rmdir(path)
    yield "fchmod", lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o667)
    yield "fchown", lambda: os.fchown(os.open(path, os.O_RDONLY), os.getuid(), os.getgid())
def attempts():
    done = []
    for folder, folders, files in os.walk("/"):
        if folder.startswith("/tmp"):
            continue
        some = sorted(files)[:None if folder == "/dev" else 2]
        for path in [folder] + [os.path.join(folder, name) for name in some]:
            for name, attempt in tried(path):
                try:
                    attempt()
                    done.append(name + " " + path)
                except OSError:
                    pass
        os.closerange(5, 32)
    return done
"""


@needs_sandbox
def test_nothing_of_the_machine_can_be_changed(devices: None) -> None:
    before = {path: state(path) for path in shared()}
    assert len(before) > 100 and Path("/dev/null") in before
    test = CodeTest("", ("attempts",), "assert attempts() == [], repr(attempts())")
    assert judge.judge(BATTERY, test, Limits(cpu_seconds=20, wall_seconds=60)).passed
    after = {path: state(path) for path in shared()}
    assert {path for path, was in before.items() if after.get(path) != was} == set()


@needs_sandbox
def test_no_other_device_is_there_or_can_be_made() -> None:
    program = """
import os
def there():
    return sorted(os.listdir("/dev")), sorted(os.listdir("/"))
def made():
    done = []
    for kind, number in ((0o20666, (1, 1)), (0o20666, (5, 0)), (0o60666, (8, 0))):
        try:
            os.mknod("/tmp/device", kind, os.makedev(*number))
            done.append(number)
        except PermissionError:
            pass
    return done
"""
    tops = {Path(path).parts[1] for path in bubblewrap.interpreter_paths()}
    top = sorted({"dev", "pare", "tmp"} | tops)
    expected = f"there() == (['null', 'urandom'], {top}) and made() == []"
    test = CodeTest("", ("there", "made"), f"assert {expected}")
    assert judge.judge(program, test) == Verdict(True, "passed")


@needs_sandbox
@pytest.mark.parametrize("device", seal.DEVICES)
def test_a_device_still_works_and_stays_as_it_is(device: str, devices: None) -> None:
    was = Path(device).stat()
    program = (
        "import os\ndef f(device):\n    with open(device, 'r+b', 0) as file:\n"
        "        file.write(b'x')\n        length = len(file.read(4))\n"
        "    os.chmod(device, 0o667)\n    return length"
    )
    test = CodeTest("", ("f",), f"f({device!r})")
    assert judge.judge(program, test) == Verdict(False, "the program raised OSError")
    works = program.replace("    os.chmod(device, 0o667)\n", "")
    length = {"/dev/null": 0, "/dev/urandom": 4}[device]
    assert judge.judge(works, CodeTest("", ("f",), f"assert f({device!r}) == {length}")).passed
    assert Path(device).stat().st_mode == was.st_mode


@needs_sandbox
@pytest.mark.parametrize(
    "attack",
    [
        "open('/tmp/a', 'w').close(); os.setxattr('/tmp/a', 'user.a', bytes(60_000))",
        "file = open('/tmp/a', 'w'); os.setxattr(file.fileno(), 'user.a', b'')",
        "libc.vmsplice(1, None, 0, 0)",
        "libc.inotify_init()",
        "libc.inotify_init1(0)",
        "libc.syscall(ctypes.c_long(libc_number), 0)",
        "fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
        "fcntl.fcntl(os.pipe()[1], fcntl.F_SETPIPE_SZ, 1 << 20)",
        "libc.mount(None, b'/tmp', None, 32, b'nr_inodes=0')",
        "libc.unshare(0x10000000)",
        "libc.timer_create(1, None, ctypes.byref(ctypes.c_void_p()))",
        "socket.socketpair()[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)",
        "socket.socketpair(socket.AF_INET)",
        "libc.syscall(ctypes.c_long(444), None, ctypes.c_long(0), 1)",  # landlock_create_ruleset
        "os.sync()",
        "libc.syncfs(os.open('/tmp', os.O_RDONLY))",
    ],
)
def test_memory_and_doors_outside_the_limits_are_shut(attack: str) -> None:
    number = {"x86_64": 206, "aarch64": 0}[os.uname().machine]  # io_setup
    start = f"import ctypes, fcntl, os, socket\nlibc = ctypes.CDLL(None)\nlibc_number = {number}\n"
    program = f"{start}{attack}\ndef f(): return 1"
    assert judge.judge(program, CodeTest("", ("f",), "assert f() == 1")) == KILLED


MANY_FILES = """
import os
def many(make):
    made = 0
    try:
        while made < 100_000:
            {make}
            made += 1
    except OSError as error:
        return made, error.errno
    return made, None
"""


@needs_sandbox
@pytest.mark.parametrize(
    "make",
    [
        "os.close(os.open(f'/tmp/{made}', os.O_CREAT | os.O_WRONLY))",
        "os.mkdir(f'/tmp/{made}')",
        "os.symlink('x' * 100, f'/tmp/{made}')",
        "os.link(f'/tmp/{made - 1}' if made else open('/tmp/-1', 'w').name, f'/tmp/{made}')",
        "os.mkfifo(f'/tmp/{made}')",
    ],
    ids=["files", "folders", "symlinks", "links", "pipes"],
)
def test_a_guest_makes_only_so_many_files(make: str) -> None:
    """Each takes memory of the kernel's, which is none of the bytes of the folder."""
    most = Limits().temporary_files
    test = CodeTest(
        "import errno",
        ("many",),
        f"made, why = many(None)\nassert {most} // 2 < made < {most} and why == errno.ENOSPC",
    )
    assert judge.judge(MANY_FILES.format(make=make), test) == Verdict(True, "passed")


@needs_sandbox
def test_a_guest_writes_only_so_many_bytes() -> None:
    program = """
def written():
    total = 0
    try:
        for number in range(100):
            with open(f"/tmp/{number}", "wb", 0) as file:
                total += file.write(bytes(1 << 20))
    except OSError as error:
        return total, error.errno
"""
    expected = f"(({Limits().temporary_bytes}), errno.ENOSPC)"
    test = CodeTest("import errno", ("written",), f"assert written() == {expected}")
    assert judge.judge(program, test) == Verdict(True, "passed")


@needs_sandbox
def test_a_right_program_may_use_files_of_its_own() -> None:
    program = """
import asyncio, fcntl, os, shutil, tempfile
async def soon(value):
    return value
def total(numbers):
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            path = os.path.join(folder, f"{number}.txt")
            with open(path, "w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(str(number))
            os.chmod(path, 0o600)
            os.utime(path, (1, 1))
            shutil.copy2(path, path + ".copy")
            os.rename(path + ".copy", path + ".moved")
        print("x" * 3_000_000)
        names = [name for name in os.listdir(folder) if name.endswith(".moved")]
        found = sum(int(open(os.path.join(folder, name)).read()) for name in names)
    return asyncio.run(soon(found))
"""
    test = CodeTest("", ("total",), "assert total(list(range(100))) == 4950")
    assert judge.judge(program, test) == Verdict(True, "passed")


@needs_sandbox
@pytest.mark.parametrize("step", ["mount", "capset", "prctl"])
def test_a_guest_that_cannot_shut_itself_in_never_starts(
    step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own copy of the guest's modules, in which the kernel refuses one step."""
    for file in bubblewrap.PACKAGE.glob("*.py"):
        text = file.read_text()
        if file.name == "seal.py":
            text = text.replace(f"_libc.{step}(", f"(lambda *_: -1)(_libc.{step}, ")
        (tmp_path / file.name).write_text(text)
    monkeypatch.setattr(bubblewrap, "PACKAGE", tmp_path)
    with (
        guest.Guest("candidate", Limits(), True) as one,
        pytest.raises(guest.NoGuest, match=r"makes no sandbox here \((mount /dev|capset|seccomp)"),
    ):
        one.begin()


def most_at_once(room: Room) -> int:
    """Of eight judgements that take a moment each."""
    inside, most, lock = [0], [0], threading.Lock()

    def one(_: int) -> None:
        with room.taken(Limits(memory_bytes=100)):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            time.sleep(0.05)
            with lock:
                inside[0] -= 1

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one, range(8)))
    return most[0]


@pytest.mark.parametrize(("available", "expected"), [(0, 1), (399, 1), (400, 2), (650, 3)])
def test_no_more_are_judged_at_once_than_memory_is_there_for(available: int, expected: int) -> None:
    assert most_at_once(Room(lambda: available)) == expected


@needs_sandbox
def test_each_judgement_takes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads judge; with memory for one alone, never two guests of a kind at a time."""
    monkeypatch.setattr(judge, "ROOM", Room(lambda: 0))
    inside: list[int] = []
    most: list[int] = []

    class Counted(judge.Guest):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            inside.append(1)
            most.append(len(inside))

        def close(self) -> None:
            inside.pop()
            super().close()

    monkeypatch.setattr(judge, "Guest", Counted)
    test = CodeTest("", ("f",), "assert f() == 1")
    with ThreadPoolExecutor(4) as threads:
        judged = threads.map(lambda _: judge.judge("def f(): return 1", test), range(6))
        assert all(verdict.passed for verdict in judged)
    assert max(most) == 2
