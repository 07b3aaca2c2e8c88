"""lm-eval's language model over a model in memory: log-likelihoods and generations in packed rows,
whatever packing cannot do as lm-eval does it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    SuppressTokensAtBeginLogitsProcessor,
)

from pare_backends.cache.policy import chooses_by_content
from pare_backends.cache.reading import read_context
from pare_backends.checkpoint.chat_template import filled
from pare_backends.checkpoint.reading_on import is_changed_by_padding
from pare_backends.checkpoint.setting import setting_of
from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.packed.drawing import Distribution
from pare_backends.evaluation.packed.forward import require_finite
from pare_backends.evaluation.packed.generation import Decoding, greedy
from pare_backends.evaluation.packed.packed_generator import PackedGenerator
from pare_backends.evaluation.packed.packing import group_requests
from pare_backends.evaluation.packed.sampling import sample_until
from pare_backends.evaluation.packed.scoring import PackedScorer, Request
from pare_backends.evaluation.task_needs import require_end, require_room
from pare_backends.progress import Report

CHECKED_TOKENS = 64
"""Of a prompt, on which packed rows are tried."""
SECONDS_BETWEEN_PROGRESS = 1.0


class _Finite(LogitsProcessor):
    """Ends a generation whose logits are no numbers; greedy search would go on with token 0."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        broken = bool(torch.isnan(scores).any())
        require_finite(broken, "a generated token", self.model, input_ids[0].tolist())
        return scores


class PackedLM(PackedScorer):
    """HFLM for causal models in memory. `label` names the task in progress events."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        batch_size: int,
        report: Report,
        answers: Answers | None = None,
    ) -> None:
        super().__init__(model, tokenizer, batch_size, report, answers)
        self._generator = PackedGenerator(model)
        self._generates_packed: bool | None = None
        self._generated = 0
        self._generations = 0
        self._prompts: dict[str, tuple[int, ...]] = {}
        self._generation_seconds: dict[tuple[int, ...], float] = {}

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """As the harness does; the template, a stranger's program, has its bounds each time."""
        own = super().apply_chat_template

        def fill(taken: Any) -> str:
            return str(own(taken, add_generation_prompt))

        return filled(self.tokenizer, fill, chat_history)

    def seconds_of(self, sample: dict[str, Any]) -> float | None:
        """What a logged sample took: its share of the batches that it was computed in, all its
        drawn generations. None where that is not known."""
        known = super().seconds_of(sample)
        if known is not None or not sample["arguments"]:
            return known
        shares = [
            self._generation_seconds.get(self._prompts.get(str(asked[0]), ()))
            for asked in sample["arguments"]
        ]
        return None if None in shares else math.fsum(share or 0.0 for share in shares)

    def note_seconds(self, context: str, seconds: float) -> None:
        """Keeps what the generations of a request took."""
        self._generation_seconds[self._prompts[context]] = seconds

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Generations as lm-eval makes them; sampled ones a prompt at a time."""
        longest = max(int(one.args[1].get("max_gen_toks", 0)) for one in requests)
        require_room(self.label, longest, self.max_length)
        require_end(self.label, self.tokenizer)
        for one in requests:
            tokens = self.tok_encode(one.args[0])
            limit = self.max_length - int(one.args[1].get("max_gen_toks", self.max_gen_toks))
            self.note_cut(one.args[0], len(tokens) - limit)
            self._prompts[one.args[0]] = tuple(tokens[-limit:])
        self._generated, self._generations = 0, len(requests)
        self.asked += len(requests)
        if requests[0].args[1].get("do_sample"):
            return sample_until(self, requests, self._told)
        return super().generate_until(requests, disable_tqdm=True)

    def _model_generate(
        self, context: torch.Tensor, max_length: int, stop: list[str], **options: Any
    ) -> torch.Tensor:
        read = options["attention_mask"].bool().tolist()
        prompts = [
            tuple(token for token, real in zip(row, kept, strict=True) if real)
            for row, kept in zip(context.tolist(), read, strict=True)
        ]
        new_tokens = max_length - context.shape[1]
        if setting_of(self.model) is not None or is_changed_by_padding(self.model):
            made, seconds = self._generate_alone(prompts, new_tokens, stop, options)
        elif self._can_pack(prompts, options):
            made, seconds = self._generate_packed(prompts, new_tokens, stop)
        else:
            made, seconds = self._generate_padded(context, max_length, stop, options)
        self._generation_seconds.update((prompt, seconds / len(prompts)) for prompt in prompts)
        self._told(len(context))
        width = max(len(tokens) for tokens in made)
        pad = self.tokenizer.pad_token_id
        padded = [tokens + [pad] * (width - len(tokens)) for tokens in made]
        return torch.cat([context, torch.tensor(padded, device=self.device)], dim=1)

    def _can_pack(self, prompts: Sequence[tuple[int, ...]], options: dict[str, Any]) -> bool:
        """Whether packed rows make these generations."""
        return self._generator.makes(options) and self._packs_prompts(prompts)

    def drawn_packed(self, prompt: tuple[int, ...], options: dict[str, Any]) -> Distribution | None:
        """By what packed rows draw generations with these options; None where they cannot."""
        found = self._generator.distribution(options)
        return found if found is not None and self._packs_prompts([prompt]) else None

    def _packs_prompts(self, prompts: Sequence[tuple[int, ...]]) -> bool:
        """Whether packed rows give this model's logits, which is tried on two of the first."""
        if self._packs is None:
            if min(len(prompt) for prompt in prompts) < 2:
                return False
            ends = [prompt[-CHECKED_TOKENS:] for prompt in prompts[:2]]
            asked: list[Request] = [(("", ""), list(end[:-1]), [end[-1]]) for end in ends]
            groups = group_requests([(c, a) for _, c, a in asked], self.max_length)
            self.try_packing(asked, groups)
        if self._packs and self._generates_packed is None:
            self._generates_packed = self._generator.keeps_tokens()
        return bool(self._packs and self._generates_packed)

    def _generate_packed(
        self, prompts: Sequence[tuple[int, ...]], new_tokens: int, stop: list[str]
    ) -> tuple[list[list[int]], float]:
        """What greedy search gives after each prompt, and the seconds that it took."""
        prefix = self._generator.prefix_of(prompts)
        decoding = self.decoding(new_tokens, stop)
        return self.answers.once(
            ["packed generate", prefix, prompts, new_tokens, stop, sorted(decoding.ends)],
            len(prompts),
            lambda: self.decode_packed(prefix, prompts, decoding),
        )

    def decoding(
        self,
        new_tokens: int,
        stop: list[str],
        choose: Callable[[torch.Tensor, Sequence[int]], list[int]] = greedy,
    ) -> Decoding:
        """How generations go on, by greedy search unless told, and when they end."""
        # As far back as lm-eval looks: the stop sequence may come in other tokens than its own.
        looks = [(one, len(self.tok_encode(one, add_special_tokens=False)) + 2) for one in stop]

        def stopped(made: Sequence[int]) -> bool:
            return any(one in self.tokenizer.decode(made[-size:]) for one, size in looks)

        return Decoding(new_tokens, self._generator.ends, stopped, self.label, choose)

    def decode_packed(
        self, prefix: tuple[int, ...], prompts: Sequence[tuple[int, ...]], decoding: Decoding
    ) -> list[list[int]]:
        """The tokens after each prompt, all of which begin with the prefix; tells progress."""
        told = time.monotonic()

        def tell(done: float) -> None:
            nonlocal told
            if time.monotonic() - told >= SECONDS_BETWEEN_PROGRESS:
                told = time.monotonic()
                self._progress(self._generated + done, self._generations, "generations")

        with torch.no_grad():
            return self._generator.generate(prefix, prompts, decoding, tell)

    def _generate_padded(
        self, context: torch.Tensor, max_length: int, stop: list[str], options: dict[str, Any]
    ) -> tuple[list[list[int]], float]:
        """What transformers' own search gives after each prompt, and the seconds that it took."""
        tokens, seconds = self.answers.once(
            _asked(context, max_length, stop, options),
            len(context),
            lambda: self.decode(context, max_length, stop, **options).tolist(),
        )
        return [row[context.shape[1] :] for row in tokens], seconds

    def _generate_alone(
        self,
        prompts: Sequence[tuple[int, ...]],
        new_tokens: int,
        stop: list[str],
        options: dict[str, Any],
    ) -> tuple[list[list[int]], float]:
        """The same, a prompt at a time: where tokens are let go of by their places, or padding
        changes a state, none may stand before a text."""
        made, seconds = [], 0.0
        generate = self._generate_cut if chooses_by_content(self.model) else self._generate_padded
        for prompt in prompts:
            tokens = torch.tensor([prompt], device=self.device)
            alone = {**options, "attention_mask": torch.ones_like(tokens)}
            found, took = generate(tokens, len(prompt) + new_tokens, stop, alone)
            made += found
            seconds += took
        return made, seconds

    def _generate_cut(
        self, context: torch.Tensor, max_length: int, stop: list[str], options: dict[str, Any]
    ) -> tuple[list[list[int]], float]:
        """The same from what a policy kept of a prompt, which chooses before the last token as for
        log-likelihoods."""
        said = self.shared.once(
            _asked(context, max_length, stop, options),
            len(context),
            context[:, :-1],
            lambda cache: self.decode(
                context, max_length, stop, **{**options, "past_key_values": cache}
            ).tolist(),
        )
        read = tuple(context[0].tolist())
        self.kept.update((text, said.kept) for text, own in self._prompts.items() if own == read)
        return [row[context.shape[1] :] for row in said.answer], said.seconds

    def _told(self, count: int) -> None:
        """So many more generations are done."""
        self._generated += count
        self._progress(self._generated, self._generations, "generations")

    def decode(
        self, context: torch.Tensor, max_length: int, stop: list[str], **options: Any
    ) -> torch.Tensor:
        """Contexts with what is generated after them, of a given cut cache or of one that is cut
        before the last token of each, as for log-likelihoods. returns: (batch, tokens) int64"""
        options["logits_processor"] = LogitsProcessorList([_Finite(self.model)])
        if options.pop("min_new_tokens", 0):  # no answer is empty: none begins with its own end
            texts = [self.tok_encode(one, add_special_tokens=False)[-1:] for one in stop]
            last = sorted({*self._generator.ends, *(token for one in texts for token in one)})
            begins = SuppressTokensAtBeginLogitsProcessor(last, context.shape[1], self.device)
            options["logits_processor"].append(begins)
        if chooses_by_content(self.model) and "past_key_values" not in options:
            options["past_key_values"] = read_context(self.model, context[:, :-1])
        with torch.no_grad():
            return super()._model_generate(context, max_length, stop, **options)


def _asked(context: torch.Tensor, max_length: int, stop: list[str], options: dict[str, Any]) -> Any:
    """What a generation depends on."""
    shown = {name: str(_listed(option)) for name, option in options.items()}
    return ["generate", context.tolist(), max_length, stop, shown]


def _listed(option: Any) -> Any:
    return option.tolist() if isinstance(option, torch.Tensor) else option
