"""What an evaluation reads of a model beside transformers itself."""

from __future__ import annotations

from typing import Any

import torch
from evaluation_fixtures import words
from lm_eval.api.instance import Instance

from pare_backends.evaluation.packed.language_model import PackedLM


def assert_whole_texts(model: PackedLM, own: Any) -> None:
    """Log-likelihoods of endings are those of texts that are read whole. own: transformers'"""
    asked = [(words(3 + 9 * n, n), f" {words(1 + n, 9 - n)}") for n in range(5)]
    requests = [Instance("loglikelihood", {}, pair, n) for n, pair in enumerate(asked)]
    for (context, ending), (said, _) in zip(asked, model.loglikelihood(requests), strict=True):
        before, whole = model.tok_encode(context), model.tok_encode(context + ending)
        with torch.no_grad():
            scores = own(torch.tensor([whole])).logits[0].log_softmax(dim=-1)
        places = range(len(before), len(whole))
        assert abs(said - sum(float(scores[at - 1, whole[at]]) for at in places)) < 1e-3


def assert_own_generations(model: PackedLM, own: Any) -> None:
    """Generations of prompts of different lengths in one batch are transformers' of each alone."""
    kwargs = {"max_gen_toks": 8, "until": ["<never>"], "do_sample": False}
    prompts = [words(2 + 9 * n, n) for n in range(3)]
    requests = [Instance("generate_until", {}, (p, dict(kwargs)), n) for n, p in enumerate(prompts)]
    own.generation_config = model.model.generation_config
    for prompt, said in zip(prompts, model.generate_until(requests), strict=True):
        tokens = torch.tensor([model.tok_encode(prompt)])
        made = own.generate(tokens, max_new_tokens=8, do_sample=False)[0, tokens.shape[1] :]
        assert said == model.tok_decode(made.tolist(), skip_special_tokens=True)
