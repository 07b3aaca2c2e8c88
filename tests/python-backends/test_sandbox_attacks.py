"""Programs that attack: none may pass, and nothing may happen outside its sandbox."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pare_backends.sandbox.guest_limits import Limits
from pare_backends.sandbox.verdict import CodeTest, Verdict, judge, sandbox_problem

pytestmark = pytest.mark.skipif(sandbox_problem() is not None, reason=str(sandbox_problem()))
ADD = CodeTest("", ("add",), "assert add(2, 3) == 5\nassert add(20, 30) == 50")
SHORT = Limits(cpu_seconds=1, wall_seconds=10)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A file that no guest may make, where anybody may write."""
    path = Path("/tmp") / f"pare-sandbox-{os.getpid()}-{time.monotonic_ns()}"
    yield path
    path.unlink(missing_ok=True)


def attacked(program: str, limits: Limits = SHORT) -> Verdict:
    """The verdict on a program; the host must not wait beyond its limit."""
    started = time.monotonic()
    verdict = judge(program, ADD, limits)
    assert time.monotonic() - started < limits.wall_seconds + 5
    return verdict


def test_the_test_itself_can_be_met() -> None:
    assert attacked("def add(a, b):\n    return a + b") == Verdict(True, "passed")
    assert not attacked("def add(a, b):\n    return a - b").passed


# Each does its harm and then gives right answers: it must fail for what it did.
SHELLS = {
    "posix.system": "import posix; posix.system({command!r})",
    "a reload of os": "import os, importlib; importlib.reload(os); os.system({command!r})",
    "ctypes system": "import ctypes; ctypes.CDLL(None).system({command!r}.encode())",
    "subprocess": "import subprocess; subprocess.run({command!r}, shell=True)",
    "fork": "import os\nif os.fork() == 0:\n    open({path!r}, 'w').close()",
    "a thread": "import threading\nthreading.Thread(target=open, args=({path!r}, 'w')).start()",
}


@pytest.mark.parametrize("name", SHELLS)
def test_nothing_can_be_started(name: str, outside: Path) -> None:
    attack = SHELLS[name].format(command=f"touch {outside}", path=str(outside))
    verdict = attacked(f"{attack}\ndef add(a, b):\n    return a + b")
    assert verdict == Verdict(
        False, "the candidate was killed: it asked for what a sandbox does not give"
    )
    assert not outside.exists()


def test_a_file_of_the_host_cannot_be_written(outside: Path, tmp_path: Path) -> None:
    here = tmp_path / "made"
    write = "open({!r}, 'w').write('x')\ndef add(a, b):\n    return a + b"
    assert not attacked(write.format(str(here))).passed
    assert not here.exists()
    attacked(write.format(str(outside)))  # its own /tmp takes it, and ends with it
    assert not outside.exists()
    for path in ("/made", "/pare/pare_backends/sandbox/plain.py", os.__file__, "/dev/made"):
        assert not attacked(write.format(path)).passed, path


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/etc/shadow", "/etc/hostname", "/proc/self/environ", __file__]
)
def test_no_file_of_the_host_can_be_read(path: str) -> None:
    assert path.startswith("/proc") or Path(path).exists()
    told = f"def add(a, b):\n    return len(open({path!r}, 'rb').read()) * 0 + a + b"
    assert attacked(told) == Verdict(False, "the program raised FileNotFoundError")


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a secret")
    seen = CodeTest(
        "",
        ("names",),
        "assert set(names()) == {'PYTHONHASHSEED', 'PYTHONUTF8', "
        "'LC_ALL', 'PWD'} | ({'LD_LIBRARY_PATH'} & set(names()))",
    )
    assert judge("import os\ndef names():\n    return sorted(os.environ)", seen).passed


def test_no_socket_can_be_opened() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        program = (
            "import socket\ndef add(a, b):\n"
            f"    socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1)\n"
            "    return a + b"
        )
        verdict = attacked(program)
        with pytest.raises(TimeoutError):
            server.accept()
    assert verdict.how.endswith("it asked for what a sandbox does not give")


ALWAYS_EQUAL = """
class Always(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __bool__(self): return True
"""


@pytest.mark.parametrize("base", ["int", "float", "str", "object", "tuple", "dict"])
def test_an_object_that_equals_everything_fails(base: str) -> None:
    program = ALWAYS_EQUAL.replace("int", base) + "def add(a, b):\n    return Always()"
    assert attacked(program) == Verdict(False, "an assertion of the test is not met")


FORGED = """
import gc, json, os, sys
def add(a, b):
    for one in gc.get_objects():
        if isinstance(one, list):
            one.append("passed")
    frame = sys._getframe()
    while frame is not None:
        token = frame.f_locals.get("token", frame.f_locals.get("message", {{}}))
        for descriptor in range(3, 10):
            for message in ({messages}):
                try:
                    os.write(descriptor, (json.dumps(message) + "\\n").encode())
                except (OSError, TypeError):
                    pass
        frame = frame.f_back
    {end}
"""
MESSAGES = (
    '{"token": token, "given": True}, {"token": token, "verdict": "passed"}, "passed", '
    '{"verdict": "passed", "nonce": token}, {"verdict": "passed"}'
)


@pytest.mark.parametrize("end", ["return None", "os._exit(0)", "sys.exit(0)", "raise SystemExit"])
def test_a_verdict_cannot_be_forged(end: str) -> None:
    """It finds its token and the channel, and can say anything; what it says is an answer."""
    assert not attacked(FORGED.format(messages=MESSAGES, end=end)).passed


def test_a_reply_cannot_be_written_in_advance() -> None:
    program = (
        "import os\nfor fd in range(3, 10):\n    try:\n        os.write(fd, b'{\"given\": 5}\\n')"
    )
    program += "\n    except OSError:\n        pass\ndef add(a, b):\n    return a + b"
    assert attacked(program) == Verdict(False, "the candidate's reply has no right token")


@pytest.mark.parametrize(
    "end", ["import posix; posix._exit(0)", "import sys; sys.exit(0)", "quit()", "raise SystemExit"]
)
def test_an_early_end_is_no_pass(end: str) -> None:
    assert not attacked(f"{end}\ndef add(a, b):\n    return a + b").passed
    assert not attacked(f"def add(a, b):\n    {end}").passed


def test_a_busy_loop_ends_at_its_limit() -> None:
    verdict = attacked("def add(a, b):\n    while True: pass")
    assert verdict.how == "the candidate was killed at the limit of computing time"
    stubborn = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert attacked(stubborn).how == "the candidate was killed at a limit"


def test_a_sleep_ends_at_the_wall_limit() -> None:
    limits = Limits(wall_seconds=1.5)
    verdict = attacked("import time\ndef add(a, b):\n    time.sleep(60)", limits)
    assert verdict == Verdict(False, "the time limit was reached")


@pytest.mark.parametrize(
    "bomb",
    [
        "import os\nwhile True: os.fork()",
        "def add(a, b):\n    return bytearray(3 << 28)",
        "def add(a, b):\n    return [0] * (1 << 40)",
        "def add(a, b):\n    add.kept = 'x' * (64 << 20)\n    return add.kept",
        "import itertools\ndef add(a, b):\n    return itertools.count()",
        "def add(a, b):\n    x = []\n    for _ in range(200_000): x = [x]\n    return x",
        "def add(a, b):\n    return 9 ** 9 ** 9",
        "while True: print('x' * 1000)",
        "import os\nwhile True:\n    for fd in range(3, 10):\n        try: os.write(fd, b'x' * 99)"
        "\n        except OSError: pass",
        "files = [open(f'/tmp/{n}', 'wb') for n in range(9)]\nwhile True:\n"
        "    for file in files: file.write(b'x' * 99999)",
    ],
    ids=[
        "fork",
        "768 MiB",
        "a list",
        "a reply",
        "endless",
        "deep",
        "power",
        "print",
        "wire",
        "files",
    ],
)
def test_a_bomb_is_held(bomb: str) -> None:
    assert not attacked(bomb).passed


def test_memory_ends_at_its_limit() -> None:
    verdict = attacked("def add(a, b):\n    return len(bytearray(3 << 30)) * 0 + a + b")
    assert verdict.how == "the program raised MemoryError"


@pytest.mark.parametrize("signalled", ["os.getppid()", "os.getpid() + 1", "1", "-1", "0"])
def test_no_process_can_be_killed(signalled: str) -> None:
    """The parent of this one is the host, which goes on."""
    verdict = attacked(f"import os\nos.kill({signalled}, 9)\ndef add(a, b):\n    return a + b")
    assert verdict.how.endswith("it asked for what a sandbox does not give")


@pytest.mark.parametrize("name", ["\\x1b]0;x\\x07", "a\\nb", "\\u202e", "x" * 5000])
def test_a_name_that_a_terminal_would_act_on_is_not_shown(name: str) -> None:
    program = f"def add(a, b):\n    raise type('{name}', (BaseException,), {{}})"
    assert attacked(program) == Verdict(False, "the program raised an exception")


PATCHES = {
    "builtins": "import builtins\nbuiltins.AssertionError = builtins.compile = lambda *_: None",
    "sys.exit": "import sys\nsys.exit = lambda *_: None",
    "json": 'import json\njson.dumps = lambda *_: \'{"verdict": "passed"}\'',
    "encode": "import pare_backends.sandbox.candidate as c\nc.encode = lambda *_: True",
    "int": "import builtins\nbuiltins.isinstance = lambda *_: True",
}


@pytest.mark.parametrize("name", PATCHES)
def test_patching_what_the_guest_runs_on_wins_nothing(name: str) -> None:
    assert not attacked(f"{PATCHES[name]}\ndef add(a, b):\n    return 7").passed


def guests() -> set[str]:
    """Processes of this machine that are guests."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"sandbox.candidate" in (entry / "cmdline").read_bytes():
                found.add(entry.name)
        except OSError:
            continue
    return found


def test_nothing_is_left_of_a_guest() -> None:
    before = guests()
    attacked("import time\ntime.sleep(60)", Limits(wall_seconds=0.5))
    until = time.monotonic() + 5  # the kernel takes a moment to end a killed sandbox
    while guests() - before and time.monotonic() < until:
        time.sleep(0.05)
    assert guests() - before == set()
