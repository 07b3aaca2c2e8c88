"""What crosses between a program and its test, and what is said where no sandbox can be had."""

from __future__ import annotations

import fcntl
import json
import math
import os
import platform
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from pare_backends.failures import CallFailure
from pare_backends.sandbox import verdict as judge
from pare_backends.sandbox.guest_limits import Limits
from pare_backends.sandbox.plain import decode, encode
from pare_backends.sandbox.system_calls import AUDIT, FCNTL, KILLED, SOCKETPAIR, filter_program
from pare_backends.sandbox.verdict import CodeTest, Verdict, sandbox_problem

needs_sandbox = pytest.mark.skipif(sandbox_problem() is not None, reason=str(sandbox_problem()))


def crossed(value: Any) -> Any:
    kept: list[Any] = []
    data = encode(value, lambda one: kept.append(one) or len(kept) - 1)
    return decode(data, lambda number: kept[number])


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -0.0,
        math.inf,
        0.1 + 0.2,
        3,
        -(10**4000),
        "tab\tline\n\ud800 é",
        b"\x00\xff",
        bytearray(b"a"),
        2 + 3j,
        range(3, 9, 2),
        [1, (2, {3: {4, 5.0}}), [frozenset({(1, 2)})]],
        {(1, 2): [None], None: 1, 1.5: "x"},
        ["handle", 3],
        int,
        ValueError,
        object(),
        print,
    ],
)
def test_a_value_crosses_as_itself(value: Any) -> None:
    found = crossed(value)
    assert found == value and type(found) is type(value)
    assert repr(found) == repr(value)


def test_a_subclass_crosses_as_the_builtin() -> None:
    class Sly(int):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    assert type(crossed(Sly(3))) is int
    assert type(crossed({1: Sly(3)})[1]) is int
    assert math.isnan(crossed(math.nan))


@pytest.mark.parametrize(
    "data",
    [["exec", "1"], ["type", "print"], ["type", "os"], ["handle", "0"], ["handle", True], [1], {}],
)
def test_data_of_no_kind_are_refused(data: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        decode(data, lambda number: pytest.fail("no handle was given"))


def test_a_sandbox_that_starts_shuts_its_guest_in() -> None:
    """Where it did not, the tests of attacks would be left out, so it is asked here."""
    assert "a probe of it failed" not in (sandbox_problem() or "")


class Said:
    """Stands for a guest that says these lines, whatever it is told."""

    def __init__(self, *lines: dict[str, Any]) -> None:
        self._lines = [json.dumps(line).encode() for line in lines]
        self.told: list[Any] = []

    def send(self, message: Any) -> None:
        self.told.append(message)

    def receive_line(self) -> bytes:
        return self._lines.pop(0)


@pytest.mark.parametrize("nonce", [None, "", "0" * 32])
def test_a_verdict_without_the_right_nonce_is_no_pass(
    nonce: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge.secrets, "token_hex", lambda _: "f" * 32)
    loaded = {"token": "f" * 32, "given": None}
    test = CodeTest("", (), "")
    wrong = Said({"verdict": "passed", "nonce": nonce})
    verdict = judge._judge("", test, cast(Any, Said(loaded)), cast(Any, wrong))
    assert verdict == Verdict(False, "the verdict has no right nonce")
    right = Said({"verdict": "passed", "nonce": "f" * 32})
    assert judge._judge("", test, cast(Any, Said(loaded)), cast(Any, right)).passed


TOLD = """
import json, sys
frame = sys._getframe()
while "test" not in frame.f_locals or "nonce" not in frame.f_locals["test"]:
    frame = frame.f_back
nonce = frame.f_locals["test"]["nonce"]
os.write(4, (json.dumps({{"verdict": {}, "nonce": nonce}}) + "\\n").encode())
"""
"""A test that says the verdict itself, in these words."""

OBJECTS = """
class Node:
    def __init__(self, value):
        self.value, self.next = value, None
def last(node):
    while node.next is not None:
        node = node.next
    return node.value
def evens():
    yield from range(0, 10, 2)
def fail(how):
    raise how("no")
"""


@needs_sandbox
def test_objects_of_a_program_can_be_used_by_its_test() -> None:
    test = CodeTest(
        "",
        ("Node", "last", "evens", "fail"),
        """
head = Node(1)
head.next = Node((2, 3))
assert last(head) == (2, 3) and head.next.value == (2, 3)
assert head != 1 and Node(1) != Node(1)
assert list(evens()) == [0, 2, 4, 6, 8]
try:
    fail(KeyError)
except Exception as error:
    assert str(error) == "KeyError"
else:
    assert False
""",
    )
    assert judge.judge(OBJECTS, test) == Verdict(True, "passed")


@needs_sandbox
@pytest.mark.parametrize(
    ("after", "how"),
    [
        ("raise type('\\x1b]0;x\\x07', (Exception,), {})", "the test ended by an exception"),
        ("raise type('x' * 5000, (Exception,), {})", "the test ended by an exception"),
        ("os.write(4, b'5\\n')", "the checker says what is no message"),
        ("os.write(4, b'[' * 100_000 + b'\\n')", "the checker says what is no message"),
        (TOLD.format('"\\x1b[31m"'), "the test gives no verdict"),
        (TOLD.format('"x" * 5000'), "the test gives no verdict"),
        (TOLD.format("[1]"), "the test gives no verdict"),
    ],
)
def test_a_test_of_a_strangers_file_says_a_few_plain_words(after: str, how: str) -> None:
    test = CodeTest("import os", (), after)
    assert judge.judge("", test) == Verdict(False, how)


@needs_sandbox
def test_names_of_the_test_are_not_the_programs() -> None:
    """A program may not put its own `abs` in the place of the test's."""
    test = CodeTest("import math", ("f",), "assert abs(f(1) - 2) < 1e-9 and math.sqrt(f(1)) < 2")
    program = "abs = lambda _: 0\nclass math:\n    sqrt = staticmethod(lambda _: 0)\n"
    assert judge.judge(program + "def f(n): return 2.0", test).passed
    assert not judge.judge(program + "def f(n): return 9.0", test).passed


@needs_sandbox
@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("def f(:", "the program cannot be loaded"),
        ("", "the program raised KeyError"),
        ("def f(n): return n", "an assertion of the test is not met"),
        ("class \ud83d\ude00: pass", "the program cannot be loaded"),
        ("f = 3", "the program raised TypeError"),
        ("x" * 3_000_000, "the program cannot be loaded"),
    ],
)
def test_a_verdict_says_why(program: str, how: str) -> None:
    test = CodeTest("", ("f",), "assert f(2) == 4")
    assert judge.judge(program, test) == Verdict(False, how)


@needs_sandbox
def test_the_order_of_a_set_is_the_same_every_time() -> None:
    program = "def f():\n    return hash('a word')"
    seeded = "print(hash('a word'))"
    done = subprocess.run(
        [sys.executable, "-c", seeded], env={"PYTHONHASHSEED": "0"}, capture_output=True, check=True
    )
    assert judge.judge(program, CodeTest("", ("f",), f"assert f() == {int(done.stdout)}")).passed


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 0), ("aarch64", 1)])
def test_the_filter_has_the_kernels_own_numbers(machine: str, column: int) -> None:
    headers = {
        "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        "aarch64": Path("/usr/include/asm-generic/unistd.h"),
    }
    if not headers[machine].exists():
        pytest.skip(f"{headers[machine]} is not here: the kernel's headers are not installed")
    text = headers[machine].read_text()
    found = {n: int(v) for n, v in re.findall(r"#define __NR_(\w+)\s+(\d+)", text)}
    expected = {name: found.get(name) for name in KILLED}
    assert {name: pair[column] for name, pair in KILLED.items()} == expected


def kills(program: bytes, machine: str, number: int, second: int = 0, first: int = 1) -> bool:
    """What the kernel would do: runs the filter's steps on one call of this machine's."""
    call = {0: number, 4: AUDIT[machine], 16: first, 24: second}
    loaded, at = 0, 0
    while True:
        code, yes, no, operand = struct.unpack_from("=HBBI", program, 8 * at)
        if code == 0x06:
            return {0x80000000: True, 0x7FFF0000: False}[operand]
        at += 1
        if code == 0x20:
            loaded = call[operand]
        else:
            at += yes if {0x15: loaded == operand, 0x35: loaded >= operand}[code] else no


@pytest.mark.parametrize("machine", list(AUDIT))
def test_the_filter_ends_what_it_names_and_nothing_else(machine: str) -> None:
    program = filter_program(machine)
    assert program is not None and len(program) % 8 == 0
    column = list(AUDIT).index(machine)
    named = {pair[column] for pair in KILLED.values()}
    assert {number for number in range(600) if kills(program, machine, number)} == named - {None}
    commands = {n for n in range(1100) if kills(program, machine, FCNTL[column], n)}
    assert commands == {fcntl.F_SETLEASE, fcntl.F_NOTIFY, fcntl.F_SETPIPE_SZ}
    families = {n for n in range(50) if not kills(program, machine, SOCKETPAIR[column], 0, n)}
    assert families == {socket.AF_UNIX}
    assert kills(program, machine, 0x40000000)
    other = next(one for one in AUDIT if one != machine)
    assert kills(program, other, 60)


def test_a_machine_of_no_known_numbers_has_no_filter() -> None:
    assert filter_program("riscv64") is None


def test_without_bubblewrap_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox_problem.cache_clear()
    try:
        assert sandbox_problem() == (
            "bubblewrap is not installed: install it with `sudo apt-get install bubblewrap` "
            "(Debian, Ubuntu) or `sudo dnf install bubblewrap` (Fedora)"
        )
        with pytest.raises(CallFailure, match=r"Cannot run the code .* apt-get install") as caught:
            judge.require_sandbox()
        assert caught.value.kind == "missing_environment"
        assert "--unsafe-code" in str(caught.value.hint)
    finally:
        sandbox_problem.cache_clear()


def test_where_namespaces_are_forbidden_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A bwrap that ends as the real one does where the kernel refuses it."""
    words = "bwrap: No permissions to create new namespace, likely because the kernel does not"
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    sandbox_problem.cache_clear()
    try:
        problem = str(sandbox_problem())
    finally:
        sandbox_problem.cache_clear()
    if filter_program() is None:
        assert platform.machine() in problem
        return
    assert words in problem and "kernel.unprivileged_userns_clone=1" in problem


def test_without_a_sandbox_a_program_still_has_limits() -> None:
    test = CodeTest("", ("f",), "assert f(2) == 4")
    judged = [
        judge.judge(f"def f(n):\n    {body}", test, Limits(cpu_seconds=1), sandboxed=False)
        for body in ("return 2 * n", "return n", "while True: pass", "return bytearray(3 << 30)")
    ]
    assert [verdict.passed for verdict in judged] == [True, False, False, False]
    assert judged[3].how == "the program raised MemoryError"
