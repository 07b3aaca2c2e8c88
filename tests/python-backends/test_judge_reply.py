"""A judge's reply is read as JSON, mended once, and never guessed."""

from __future__ import annotations

import pytest

from pare_backends.evaluation.judging.reply import read_reply

NAMES, SCALE = ("right", "clear"), (1, 2, 3, 4, 5)
WHOLE = '{"reason": "so", "right": 4, "clear": 2}'


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (WHOLE, False),
        (f" \n{WHOLE}\n", False),
        ('{"right": 4.0, "clear": "2", "more": [1]}', False),
        (f"<think>right is 1, {{no}}</think>{WHOLE}", False),
        (f"```json\n{WHOLE}\n```", True),
        (f"My verdict: {WHOLE} I hope that helps {{always}}.", True),
        ('{"right": 4, // good\n "clear": 2, /* so so */ }', True),
        ('{"right": 4, # good\n "clear": 2}', True),
        ("{'right': 4, 'clear': 2}", True),
        ("{right: 4, clear: 2}", True),
        ('{"right": 4, "clear": 2,}', True),
        ('{"right": 4, "clear": 2, "reason": "it is a lon', True),
        ('{"right": 4, "clear": 2, "rea', True),
        ('{"reason": "two\nlines", "right": 4, "clear": 2}', True),
        ('{"reason": "he said \\"5\\"", "right": 4, "clear": 2} trailing', True),
        ('{"scores": {"right": 4, "clear": 2}}', True),
        ('{"right": 1, "clear": 1} No, wait: {"right": 4, "clear": 2}', True),
    ],
)
def test_what_can_be_read(text: str, mended: bool) -> None:
    read = read_reply(text, NAMES, SCALE)
    assert read is not None, text
    assert (dict(read.values), read.mended) == ({"right": 4, "clear": 2}, mended)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[4, 2]",
        "right: 4, clear: 2",
        "The answer is right (4) and clear (2).",
        '{"right": 4}',
        '{"right": 4, "clear": 7}',
        '{"right": 4, "clear": 0}',
        '{"right": 4, "clear": 2.5}',
        '{"right": 4, "clear": true}',
        '{"right": 4, "clear": null}',
        '{"right": 4, "clear": "4/5"}',
        '{"right": 4, "clear": 4/5}',
        '{"right": 4, "clear": 2, "right": 5} end',
        '{"right": 4, "clear": 2, "right": 5}',
        '{"reason": "so", "right": 4, "clear": 2',  # a digit may be lost
        '{"reason": "right is 4, \\"clear\\": 2',
        "{" * 5000,
        '{"a":' * 5000,
        '"' * 5000,
        "\x00\ud83e",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert read_reply(text, NAMES, SCALE) is None


def test_words_are_taken_of_pairs_and_yes_and_no_of_a_scale_of_two() -> None:
    read = read_reply('{"winner": "b"}', ("winner",), ("A", "B", "tie"))
    assert read is not None and read.values["winner"] == "B"
    assert read_reply('{"winner": "C"}', ("winner",), ("A", "B", "tie")) is None
    met = read_reply('{"c1": true, "c2": 0}', ("c1", "c2"), (0, 1))
    assert met is not None and dict(met.values) == {"c1": 1, "c2": 0}
