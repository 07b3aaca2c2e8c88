"""lm-eval's tasks over local files, and packed rows against lm-eval's own batches."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from evaluation_fixtures import Events, benchmark_file, wire_task, words
from lm_eval.api.instance import Instance

from pare_backends.checkpoint import load_dequantized
from pare_backends.checkpoint.load import quantize_inputs
from pare_backends.evaluation.harness import run_harness
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.packed.packing import attention, group_requests, pack, split_prefix
from pare_backends.evaluation.perplexity import TextReader, run_perplexity, windows
from pare_backends.evaluation.tasks.documents import load_documents
from pare_backends.evaluation.tasks.lm_task import build_task
from pare_backends.failures import CallFailure


def language_model(model_dir: Path, batch_size: int = 2) -> PackedLM:
    return PackedLM(*load_dequantized(model_dir), batch_size, Events().report)


def requests(model: PackedLM, shared: str) -> list[tuple[Any, list[int], list[int]]]:
    """Three questions with choices of one to three tokens, after a shared beginning."""
    found = []
    for number in range(3):
        context = model.tok_encode(f"{shared} {words(3 + number, number)}")
        for choice in ("den", "the red fox", "golden owl", "pond"):
            found.append(((f"{number}", choice), context, model.tok_encode(choice)))
    return found


@pytest.mark.parametrize("shared_words", [1, 90])
def test_packed_rows_equal_the_batches_of_lm_eval(shared_words: int, model_dir: Path) -> None:
    model = language_model(model_dir)
    asked = requests(model, words(shared_words))
    groups = group_requests([(c, a) for _, c, a in asked], model.max_length)
    prefix, _ = split_prefix(groups)
    assert (len(prefix) > 0) == (shared_words == 90)
    model._budget = 16  # several rows after one prefix
    packed = model._packed(groups, asked)
    plain = model._plain(asked)
    assert [value for value, _ in packed] == pytest.approx([v for v, _ in plain], abs=1e-4)
    assert [greedy for _, greedy in packed] == [greedy for _, greedy in plain]


def test_a_request_beyond_the_context_loses_tokens_from_the_left(model_dir: Path) -> None:
    model = language_model(model_dir)
    long = model.tok_encode(words(400))
    answers = ["den", "the red fox"]
    asked = [(("", answer), long, model.tok_encode(answer)) for answer in answers]
    groups = group_requests([(c, a) for _, c, a in asked], model.max_length)
    assert [len(group.context) + len(group.branches[0].tokens) for group in groups] == [257, 257]
    packed, plain = model._packed(groups, asked), model._plain(asked)
    assert [value for value, _ in packed] == pytest.approx([v for v, _ in plain], abs=1e-4)


def test_packing_is_given_up_where_it_changes_the_result(model_dir: Path) -> None:
    model = language_model(model_dir)
    events = Events()
    model._report = events.report
    forward = model._forward
    model._forward = lambda *a: [(v + 0.1, g) for v, g in forward(*a)]  # type: ignore
    asked = requests(model, "the")
    found = model._loglikelihood_tokens(asked)
    assert model.packs is False
    assert found == model._plain(asked)
    assert events.named("alert")[0]["condition"] == "packed_evaluation_refused"


def test_rounded_inputs_do_not_stand_against_packing(model_dir: Path) -> None:
    # A last bit more or less moves a rounded input by a whole step: two right ways of computing
    # differ by far more than the tolerance, which then says nothing of the mask.
    model = language_model(model_dir)
    layers = [n for n, m in model.model.named_modules() if n.endswith("_proj")]
    asked = requests(model, "the")
    plain = model._plain(asked)
    quantize_inputs(model.model, dict.fromkeys(layers, -1))
    round_first = model.model.model.layers[0].self_attn.q_proj
    seen: list[bool] = []
    round_first.register_forward_pre_hook(lambda *_: seen.append(model.model.pare_rounds_inputs))
    found = model._loglikelihood_tokens(asked)
    assert model.packs is True
    assert seen[:2] == [False, False] and seen[-1] is True
    assert [value for value, _ in found] != [value for value, _ in plain]


def test_attention_keeps_groups_and_branches_apart() -> None:
    groups = group_requests([((1, 2), (3, 4)), ((1, 2), (5, 6, 7)), ((8,), (9,))], 100)
    (row,) = pack(groups, 100)
    assert row.tokens == [1, 2, 3, 5, 6, 8]
    assert row.positions == [0, 1, 2, 2, 3, 0]
    expected = [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 1, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 1],
    ]
    assert np.array_equal(attention(row), np.array(expected, dtype=bool))


@pytest.mark.parametrize(
    ("name", "file", "rows", "prompt_starts", "target"),
    [
        ("lambada", "lambada/test.jsonl.gz", 4853, "In my palm is a clear stone", " signs"),
        ("arc_challenge", "arc_challenge/test.jsonl.gz", 1022, "Question: Examine each", 1),
        ("gsm8k", "gsm8k/test.jsonl.gz", 1169, "Q: There are 15 trees", "18"),
    ],
)
def test_benchmark_files_become_lm_eval_tasks(
    name: str, file: str, rows: int, prompt_starts: str, target: str | int
) -> None:
    task = wire_task(name, benchmark_file(file))
    documents = load_documents(task)
    assert len(documents.rows) == len(set(documents.hashes)) == rows
    built = build_task(task, documents, [0, 5])
    built.build_all_requests(rank=0, world_size=1)
    prompt = built.instances[0].args[0]
    assert prompt.startswith(prompt_starts)
    assert built.doc_to_target(built.eval_docs[0]) == target
    examples = {"lambada": 0, "arc_challenge": 25, "gsm8k": 8}[name]
    assert prompt.count("\n\n") >= examples


def test_a_prompt_does_not_depend_on_the_selection() -> None:
    task = wire_task("arc_challenge", benchmark_file("arc_challenge/test.jsonl.gz"))
    documents = load_documents(task)
    prompts = []
    for rows in ([3, 9], [9]):
        built = build_task(task, documents, rows)
        built.build_all_requests(rank=0, world_size=1)
        prompts.append(built.instances[-1].args[0])
    assert prompts[0] == prompts[1]


def test_wikitext_is_cut_into_windows(model_dir: Path) -> None:
    task = wire_task("wikitext2", benchmark_file("wikitext2/test.jsonl.gz"))
    documents = load_documents(task)
    tokenizer = load_dequantized(model_dir)[1]
    found = windows(task, documents, tokenizer)
    assert {len(window) for window in found} == {512}
    joined = tokenizer.encode("\n\n".join(row["text"] for row in documents.rows))
    assert found[3] == joined[3 * 512 : 4 * 512]


def test_generations_are_greedy_and_tell_their_progress(model_dir: Path) -> None:
    events = Events()
    model = PackedLM(*load_dequantized(model_dir), 2, events.report)
    model.label = "gsm8k"
    context = words(12)
    options = {"max_gen_toks": 4, "until": ["<never>"], "do_sample": False}
    asked = [Instance("generate_until", {}, (context, dict(options)), i) for i in range(3)]
    texts = model.generate_until(asked)
    tokens = model.tok_encode(context)
    for _ in range(4):
        with torch.no_grad():
            tokens.append(int(model.model(torch.tensor([tokens])).logits[0, -1].argmax()))
    assert texts == [model.tok_decode(tokens[-4:])] * 3
    assert [event["done"] for event in events.named("progress")] == [2, 3]


@pytest.mark.parametrize(
    ("name", "file", "reason"),
    [
        ("gsm8k", "gsm8k/test.jsonl.gz", "Cannot generate 256 tokens for gsm8k"),
        ("wikitext2", "wikitext2/test.jsonl.gz", "in windows of 512 tokens: the model reads 256"),
    ],
)
def test_a_benchmark_beyond_the_context_is_refused(
    name: str, file: str, reason: str, model_dir: Path
) -> None:
    task = wire_task(name, benchmark_file(file))
    documents = load_documents(task)
    with pytest.raises(CallFailure, match=reason):
        if name == "gsm8k":
            run_harness(task, documents, [0], language_model(model_dir))
        else:
            model, tokenizer = load_dequantized(model_dir)
            run_perplexity(task, documents, [0], TextReader(model, tokenizer, 1, Events().report))


def test_a_generation_of_a_broken_model_is_not_a_number(model_dir: Path) -> None:
    model = language_model(model_dir)
    with torch.no_grad():
        model.model.model.norm.weight.fill_(math.nan)
    options = {"max_gen_toks": 4, "until": ["<never>"], "do_sample": False}
    with pytest.raises(CallFailure) as caught:
        model.generate_until([Instance("generate_until", {}, (words(5), options), 0)])
    assert caught.value.kind == "not_a_number"
    assert "first those of model.norm, whose weight holds" in caught.value.message


def test_an_unreachable_hub_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import datasets.config
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert os.environ["HF_HUB_OFFLINE"]
    with pytest.raises(CallFailure, match="Cannot get the data of lambada") as caught:
        load_documents(wire_task("lambada"))
    assert caught.value.kind == "bad_input"
    hint = str(caught.value.hint)
    assert hint.startswith("Name a folder that holds it as lambada/test.jsonl.gz by --data-dir")
    place = tmp_path / "EleutherAI___lambada_openai" / "default"
    assert hint.endswith(f"once without HF_HUB_OFFLINE: the data are then kept in {place}")
