"""Every choice benchmark over its real records: prompts written out by hand here, scores from plain
forward passes, and lm-eval's own task beside pare's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from benchmark_fixtures import log_likelihood, own_run, packed
from evaluation_fixtures import Events, benchmark_file, wire_task
from lm_eval.models.huggingface import HFLM

from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.perplexity import TextReader, run_perplexity, windows
from pare_backends.evaluation.tasks.documents import Documents, load_documents
from pare_backends.evaluation.tasks.records import Row

ROWS = [0, 3, 11, 12, 200]
LETTERS = "ABCDE"


@dataclass(frozen=True)
class Choice:
    """What a question asks a model to score: (context, continuation) pairs, and the right one."""

    pairs: list[tuple[str, str]]
    right: int
    lengths: list[int] | None = None


def commonsense_qa(row: Row, _: list[Row]) -> Choice:
    lines = [f"{LETTERS[i]}. {text}" for i, text in enumerate(row["choices"]["text"])]
    prompt = "\n".join([f"Question: {row['question'].strip()}", *lines, "Answer:"])
    return Choice([(prompt, f" {letter}") for letter in LETTERS], LETTERS.index(row["answerKey"]))


def arc_challenge(row: Row, examples: list[Row]) -> Choice:
    def answer(one: Row) -> int:
        return int(one["choices"]["label"].index(one["answerKey"]))

    shots = [
        f"Question: {one['question']}\nAnswer: {one['choices']['text'][answer(one)]}\n\n"
        for one in examples
    ]
    prompt = "".join(shots) + f"Question: {row['question']}\nAnswer:"
    texts = row["choices"]["text"]
    return Choice([(prompt, f" {t}") for t in texts], answer(row), [len(t) for t in texts])


def hellaswag(row: Row, examples: list[Row]) -> Choice:
    def plain(text: str) -> str:
        return re.sub(r"\[.*?\]", "", text.strip().replace(" [title]", ". ")).replace("  ", " ")

    def query(one: Row) -> str:
        return plain(f"{one['activity_label']}: {one['ctx_a']} {one['ctx_b'].capitalize()}")

    shots = [f"{query(one)} {plain(one['endings'][int(one['label'])])}\n\n" for one in examples]
    texts = [plain(text) for text in row["endings"]]
    prompt = "".join(shots) + query(row)
    return Choice([(prompt, f" {t}") for t in texts], int(row["label"]), [len(t) for t in texts])


def winogrande(row: Row, examples: list[Row]) -> Choice:
    def halves(one: Row, option: int) -> tuple[str, str]:
        before, after = one["sentence"].split("_", 1)
        return before + one[f"option{option}"], f" {after.strip()}"

    shots = ["".join(halves(one, int(one["answer"]))) + "\n\n" for one in examples]
    pairs = [halves(row, option) for option in (1, 2)]
    return Choice([("".join(shots) + a, b) for a, b in pairs], int(row["answer"]) - 1)


def mmlu(row: Row, examples: list[Row]) -> Choice:
    def question(one: Row) -> str:
        lines = [f"{LETTERS[i]}. {text}" for i, text in enumerate(one["choices"])]
        return "\n".join([one["question"].strip(), *lines, "Answer:"])

    own = [one for one in examples if one["subject"] == row["subject"]]
    subject = row["subject"].replace("_", " ")
    start = f"The following are multiple choice questions (with answers) about {subject}.\n\n"
    shots = [f"{question(one)} {LETTERS[one['answer']]}\n\n" for one in own]
    prompt = start + "".join(shots) + question(row)
    return Choice([(prompt, f" {letter}") for letter in "ABCD"], row["answer"])


def truthfulqa(row: Row, kind: str) -> Choice:
    shots = [
        ("What is human life expectancy in the United States?",
         "Human life expectancy in the United States is 78 years."),
        ("Who was president of the United States in 1955?",
         "Dwight D. Eisenhower was president of the United States in 1955."),
        ("Which party did he belong to?", "He belonged to the Republican Party."),
        ("What is the square root of banana?", "I have no comment."),
        ("How does a telescope work?",
         "Telescopes use lenses or mirrors to focus light and make objects appear closer."),
        ("Where were the 1992 Olympics held?",
         "The 1992 Olympics were held in Barcelona, Spain."),
    ]  # fmt: skip
    prompt = "".join(f"Q: {q}\nA: {a}\n\n" for q, a in shots) + f"Q: {row['question']}\nA:"
    return Choice([(prompt, f" {text}") for text in row[kind]["choices"]], 0)


PROMPTS: dict[str, Callable[[Row, list[Row]], Choice]] = {
    "commonsense_qa": commonsense_qa,
    "arc_challenge": arc_challenge,
    "hellaswag": hellaswag,
    "winogrande": winogrande,
    "mmlu": mmlu,
    "truthfulqa_mc1": lambda row, _: truthfulqa(row, "mc1_targets"),
    "truthfulqa_mc2": lambda row, _: truthfulqa(row, "mc2_targets"),
}
DATA = {
    "commonsense_qa": ("commonsense_qa/validation.jsonl.gz", "commonsense_qa/default.yaml"),
    "arc_challenge": ("arc_challenge/test.jsonl.gz", "arc/arc_challenge.yaml"),
    "hellaswag": ("hellaswag/validation_olmes.jsonl.gz", "hellaswag/hellaswag.yaml"),
    "winogrande": ("winogrande/validation.jsonl.gz", "winogrande/default.yaml"),
    "mmlu": ("mmlu/test.jsonl.gz", "mmlu/default/mmlu_abstract_algebra.yaml"),
    "truthfulqa_mc1": (
        "truthful_qa/multiple_choice.jsonl.gz",
        "truthfulqa/truthfulqa_mc1.yaml",
    ),
    "truthfulqa_mc2": (
        "truthful_qa/multiple_choice.jsonl.gz",
        "truthfulqa/truthfulqa_mc2.yaml",
    ),
}


def documents_of(name: str) -> tuple[Any, Documents]:
    task = wire_task(name, benchmark_file(DATA[name][0]))
    return task, load_documents(task)


@pytest.mark.parametrize("name", PROMPTS)
def test_a_score_is_that_of_plain_forward_passes_over_the_prompt(name: str, reader: Any) -> None:
    task, documents = documents_of(name)
    outcome = run_harness(task, documents, [3], packed(reader))
    row = documents.rows[3]
    examples = documents.examples if name == "mmlu" else documents.examples[: task.few_shot]
    choice = PROMPTS[name](row, examples)
    values = [log_likelihood(reader, *pair) for pair in choice.pairs]
    sample = outcome.samples[0]
    assert sample.log_likelihood == pytest.approx(values[choice.right], abs=2e-3)
    if name == "truthfulqa_mc2":
        labels = row["mc2_targets"]["labels"]
        masses = [math.exp(value) for value in values]
        true = sum(mass for mass, label in zip(masses, labels, strict=True) if label == 1)
        assert sample.score == pytest.approx(true / sum(masses), abs=1e-3)
        return
    lengths = choice.lengths or [1] * len(values)
    each = [value / length for value, length in zip(values, lengths, strict=True)]
    assert sample.score == float(each.index(max(each)) == choice.right)


@pytest.mark.parametrize("name", PROMPTS)
def test_every_sample_scores_as_in_lm_eval_alone(name: str, reader: Any, tmp_path: Path) -> None:
    task, documents = documents_of(name)
    ours = run_harness(task, documents, ROWS if name != "mmlu" else ROWS[:4], packed(reader))
    rows = [int(sample.sample_id) for sample in ours.samples]
    examples = documents.examples
    if name == "mmlu":  # the first rows are of one subject
        examples = [one for one in examples if one["subject"] == "abstract_algebra"]
    shots = {"num_fewshot": task.few_shot} if task.few_shot else {}
    theirs = own_run(reader, tmp_path, DATA[name][1], documents, rows, examples, **shots)
    metric = task.metric.partition(",")[0]
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    expected = [float(sample[metric]) for sample in theirs]
    assert [s.score for s in ours.samples] == pytest.approx(expected, abs=1e-3)
    if name != "truthfulqa_mc2":
        assert [s.score for s in ours.samples] == expected
    assert ours.value == pytest.approx(sum(expected) / len(expected), abs=1e-3)


@pytest.mark.parametrize("subject", ["college_chemistry", "moral_scenarios", "virology"])
def test_subjects_of_mmlu_score_as_in_lm_eval_alone(
    subject: str, reader: Any, tmp_path: Path
) -> None:
    task, documents = documents_of("mmlu")
    rows = [n for n, row in enumerate(documents.rows) if row["subject"] == subject][:2]
    other = [n for n, row in enumerate(documents.rows) if row["subject"] == "anatomy"][:1]
    ours = run_harness(task, documents, sorted([*rows, *other]), packed(reader))
    own = {sample.sample_id: sample for sample in ours.samples}
    examples = [one for one in documents.examples if one["subject"] == subject]
    include = f"mmlu/default/mmlu_{subject}.yaml"
    theirs = own_run(reader, tmp_path, include, documents, rows, examples, num_fewshot=5)
    for row, sample in zip(rows, theirs, strict=True):
        assert own[str(row)].prompt_hash == str(sample["prompt_hash"])[:16]
        assert own[str(row)].score == float(sample["acc"])
        likelihoods = [float(value) for value, _ in sample["filtered_resps"]]
        right = likelihoods[documents.rows[row]["answer"]]
        assert own[str(row)].log_likelihood == pytest.approx(right, abs=2e-3)


def test_lambada_scores_as_in_lm_eval_alone(reader: Any, tmp_path: Path) -> None:
    task = wire_task("lambada", benchmark_file("lambada/test.jsonl.gz"))
    documents = load_documents(task)
    rows = [0, 7, 1200, 4852]
    ours = run_harness(task, documents, rows, packed(reader))
    theirs = own_run(reader, tmp_path, "lambada/lambada_openai.yaml", documents, rows)
    assert [s.prompt_hash for s in ours.samples] == [str(s["prompt_hash"])[:16] for s in theirs]
    assert [s.score for s in ours.samples] == [float(s["acc"]) for s in theirs]
    likelihoods = [float(s["filtered_resps"][0][0]) for s in theirs]
    assert [s.log_likelihood for s in ours.samples] == pytest.approx(likelihoods, abs=2e-3)
    assert [s.gold for s in ours.samples] == [str(s["target"]).strip() for s in theirs]


def test_windows_of_wikitext_lose_as_much_as_in_lm_eval_alone(reader: Any) -> None:
    task = wire_task("wikitext2", benchmark_file("wikitext2/test.jsonl.gz"))
    documents = load_documents(task)
    model, tokenizer = reader
    rows = [0, 5, 6]
    ours = run_perplexity(task, documents, rows, TextReader(model, tokenizer, 4, Events().report))
    every = windows(task, documents, tokenizer)
    plain = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=2)
    asked = [(("", ""), every[row][:1], every[row][1:]) for row in rows]
    found = plain._loglikelihood_tokens(asked, disable_tqdm=True)
    losses = [-value / (len(every[row]) - 1) for row, (value, _) in zip(rows, found, strict=True)]
    assert [s.score for s in ours.samples] == pytest.approx(losses, rel=1e-5)
