"""What the benchmark tests share: a model that reads any text, and lm-eval run without pare."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lm_eval
import torch
import yaml
from evaluation_fixtures import Events
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from pare_backends.calls.prepare_data import SHIPPED_TEXT
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.records import Row, read_records
from pare_backends.evaluation.tasks.wire_task import WireTask
from pare_backends.models.tiny import tiny_config

CONTEXT = 8192


def reading_model(directory: Path) -> Any:
    """The tiny model's architecture with random weights, a byte-level vocabulary of 600 and a
    context for long prompts: (model, tokenizer)."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator((str(row["text"]) for row in read_records(SHIPPED_TEXT)), trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    torch.manual_seed(1)
    config = tiny_config(len(tokenizer))
    config.max_position_embeddings = CONTEXT
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 0.25)
    tokenizer.save_pretrained(str(directory))
    return model, tokenizer


def packed(reader: Any) -> PackedLM:
    """pare's evaluator over the model."""
    return PackedLM(*reader, 4, Events().report)


def saying(reader: Any, answers: Sequence[str]) -> Any:
    """pare's evaluator over a model that is made to say these, in order of the requests."""
    model, queue = packed(reader), list(answers)
    model.generate_until = lambda asked, **_: [queue.pop(0) for _ in asked]
    return model


def short(task: WireTask, tokens: int = 12) -> WireTask:
    """The task with generations of so many tokens."""
    definition = dict(task.definition or {})
    until = definition.get("generation_kwargs", {}).get("until", ["\n\n"])
    options = {"max_gen_toks": tokens, "until": until, "do_sample": False}
    return dataclasses.replace(task, definition={**definition, "generation_kwargs": options})


def own_run(
    reader: Any,
    folder: Path,
    include: str,
    documents: Documents,
    rows: Sequence[int],
    examples: Sequence[Row] = (),
    said: Sequence[str] = (),
    **changes: Any,
) -> list[dict[str, Any]]:
    """lm-eval's own task over the same rows from a file, by its own model class in its own padded
    batches: the logged samples, one a filter. `include`: the task's document in lm-eval; `said`:
    what the model is made to generate, one a row."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"test": [documents.rows[row] for row in rows]}
    if examples:
        files["train"] = list(examples)
    # A file's fields must have one type in both splits: those that are null somewhere are not used.
    every = [row for content in files.values() for row in content]
    empty = {field for row in every for field, value in row.items() if value is None}
    for split, content in files.items():
        kept = [{key: row[key] for key in row if key not in empty} for row in content]
        text = "".join(json.dumps(row) + "\n" for row in kept)
        (folder / f"{split}.jsonl").write_text(text, encoding="utf-8")
    document = {
        "include": str(Path(lm_eval.__file__).parent / "tasks" / include),
        "task": "own",
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {
            "data_files": {split: str(folder / f"{split}.jsonl") for split in files},
            "cache_dir": str(folder / "cache"),
        },
        "test_split": "test",
        "validation_split": None,
        "training_split": "train" if examples else None,
        **(
            {"fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}} if examples else {}
        ),
        **changes,
    }
    (folder / "own.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    model, tokenizer = reader
    plain = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=4, max_length=CONTEXT)
    if said:
        plain.generate_until = lambda *_, **__: list(said)
    found = lm_eval.simple_evaluate(
        model=plain,
        tasks=["own"],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        bootstrap_iters=0,
        log_samples=True,
    )
    return list(found["samples"]["own"])


def log_likelihood(reader: Any, context: str, continuation: str) -> float:
    """Nats of the continuation by one plain forward pass over context and continuation."""
    model, tokenizer = reader
    before = len(tokenizer.encode(context))
    tokens = tokenizer.encode(context + continuation)
    with torch.no_grad():
        scores = model(torch.tensor([tokens])).logits[0].float().log_softmax(-1)
    return sum(float(scores[i - 1, tokens[i]]) for i in range(before, len(tokens)))
