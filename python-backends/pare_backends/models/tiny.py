"""A Llama of 78,000 parameters, trained from scratch in seconds, the same on every run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pare_backends.models.tiny_text import sentences, words
from pare_backends.progress import Report

SEED = 3
STEPS = 600
BATCH = 48  # windows a step
WINDOW = 24  # tokens
PEAK_RATE = 1e-2
ANSWER_WEIGHT = 20.0
SPECIAL = ("<unk>", "<s>", "</s>")


def write_tokenizer(directory: Path) -> Any:
    """A word-level tokenizer over the language's vocabulary, written as tokenizer.json."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *words()])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        model_max_length=256,
    )
    tokenizer.save_pretrained(str(directory))
    return tokenizer


def tiny_config(vocabulary: int) -> Any:
    """The architecture: every width divides by 32, so that each library can group it."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        architectures=["LlamaForCausalLM"],
        dtype="float32",
    )


def train_tiny(directory: Path, report: Report) -> Path:
    """Trains the model and writes it as a checkpoint; about 10 seconds on one core."""
    import torch

    threads = torch.get_num_threads()
    # One thread: the order of additions, so the weights, no longer depend on the machine's load.
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            tokenizer = write_tokenizer(directory)
            model = fit(tokenizer, report)
    finally:
        torch.set_num_threads(threads)
    model.save_pretrained(str(directory))
    return directory


def fit(tokenizer: Any, report: Report) -> Any:
    """The trained model; one pass over freshly generated text."""
    import torch
    from transformers import LlamaForCausalLM

    text = " ".join(sentences(STEPS * BATCH * WINDOW // 9, SEED))
    ids: list[int] = tokenizer(text, truncation=False, verbose=False).input_ids
    stream, window = torch.tensor(ids), torch.arange(WINDOW)
    model = LlamaForCausalLM(tiny_config(len(tokenizer))).train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=PEAK_RATE, betas=(0.9, 0.98), weight_decay=0.0
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_RATE, total_steps=STEPS, pct_start=0.1
    )
    stop = int(tokenizer.convert_tokens_to_ids("."))
    for step in range(STEPS):
        starts = torch.randint(0, len(stream) - WINDOW, (BATCH, 1))
        loss = weighted_loss(model, stream[starts + window], stop)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0 or step == STEPS - 1:
            label = f"train tiny model, loss {loss.item():.2f}"
            report.progress(label, step + 1, STEPS, "steps")
    return model.eval()


def weighted_loss(model: Any, batch: Any, stop: int) -> Any:
    """Cross entropy in which a fact's answer, the word before a full stop, counts more: the
    other words carry little that can be learned, and their noise would drown the facts.

    batch: (windows, tokens) int64
    """
    import torch

    scores = model(input_ids=batch[:, :-2]).logits  # (windows, tokens - 2, vocabulary)
    answers = batch[:, 1:-1]
    losses = torch.nn.functional.cross_entropy(
        scores.flatten(0, 1), answers.flatten(), reduction="none"
    ).view_as(answers)
    weights = 1.0 + (ANSWER_WEIGHT - 1.0) * (batch[:, 2:] == stop)
    return (losses * weights).sum() / weights.sum()
