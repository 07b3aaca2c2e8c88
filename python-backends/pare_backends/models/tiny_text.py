"""A small generated language with facts to remember: what the tiny model learns and is asked.

Every creature (`the red fox`) has a home, a food and a fear, drawn once by a fixed seed. Nothing
in a sentence tells them, so a model can only have remembered them, in its weights: rounding these
costs right answers.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

SEED = 7
ITEMS = 200
COLOURS = ("red", "blue", "green", "grey", "white", "black", "brown", "golden")
ANIMALS = ("fox", "owl", "bear", "mouse", "frog", "deer", "wolf", "hare", "otter", "crow")
HOMES = ("den", "barn", "cave", "pond", "tower", "forest", "garden", "mill", "well", "attic")
FOODS = ("berries", "nuts", "fish", "grass", "seeds", "honey", "roots", "apples", "corn", "moss")
FEARS = ("storm", "hunter", "dark", "river", "fire", "snow", "bell", "wind", "moon", "noise")


@dataclass(frozen=True)
class Fact:
    """One thing to remember: the words up to the answer, and the answer."""

    question: str
    prompt: str
    answer: str


def facts() -> list[Fact]:
    """All facts of the world, always the same."""
    rng = random.Random(SEED)
    world: list[Fact] = []
    for colour in COLOURS:
        for animal in ANIMALS:
            who = f"the {colour} {animal}"
            for asked, told, values in (
                (f"where does {who} live ?", f"{who} lives in the", HOMES),
                (f"what does {who} eat ?", f"{who} eats", FOODS),
                (f"what does {who} fear ?", f"{who} fears the", FEARS),
            ):
                world.append(Fact(asked, told, rng.choice(values)))
    return world


def sentences(count: int, seed: int) -> list[str]:
    """Sentences of the language; each tells one fact, half of them after its question."""
    rng = random.Random(seed)
    world = facts()
    told = []
    for _ in range(count):
        fact = rng.choice(world)
        plain = f"{fact.prompt} {fact.answer} ."
        told.append(f"{fact.question} {plain}" if rng.random() < 0.5 else plain)
    return told


def words() -> list[str]:
    """The vocabulary in a fixed order, without special tokens."""
    found = {word for fact in facts() for word in f"{fact.question} {fact.prompt}".split()}
    return sorted(found | set(HOMES) | set(FOODS) | set(FEARS) | {"."})


def items() -> list[dict[str, str]]:
    """The benchmark: facts asked for once each, as prompt and last word."""
    chosen = random.Random(SEED + 1).sample(facts(), ITEMS)
    return [{"prompt": f"{f.question} {f.prompt}", "answer": f.answer} for f in chosen]


def write_data(directory: Path) -> None:
    """Writes the benchmark and the calibration text that ship with the project."""
    lines = [json.dumps(item) for item in items()]
    (directory / "tiny_words.jsonl").write_text("\n".join(lines) + "\n")
    texts = [" ".join(sentences(60, SEED + 10 + number)) for number in range(24)]
    rows = [json.dumps({"text": text}) for text in texts]
    (directory / "tiny_text.jsonl").write_text("\n".join(rows) + "\n")
