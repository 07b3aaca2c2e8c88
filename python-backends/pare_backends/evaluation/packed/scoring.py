"""Log-likelihoods of lm-eval's requests by a model in memory, computed in packed rows."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any

import torch
from lm_eval.models.huggingface import HFLM

from pare_backends.cache.policy import chooses_by_content, policy_of
from pare_backends.cache.reading import read_context
from pare_backends.checkpoint.empty_model import context_length
from pare_backends.checkpoint.load import inputs_as_they_are
from pare_backends.checkpoint.setting import setting_of
from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.packed.after_context import context_of, score_after_context
from pare_backends.evaluation.packed.forward import prefix_cache, require_finite, score_row
from pare_backends.evaluation.packed.packing import (
    Group,
    PackedRow,
    group_requests,
    pack,
    split_prefix,
)
from pare_backends.evaluation.packed.shared_prompts import (
    Beside,
    Kept,
    SharedPrompts,
    WholeContexts,
)
from pare_backends.evaluation.task_needs import require_markers
from pare_backends.progress import Report

TOKENS_PER_BATCH = 32
"""Tokens of a packed row for each item of the batch size: 512 at batch size 16. On two cores 256 to
512 took 8 % less than 1,024: what stands side by side in a row looks at nothing but pays for it."""
TOLERANCE = 2e-3
"""Nats by which packed and plain log-likelihoods may differ before packing is given up."""
Request = tuple[Any, list[int], list[int]]


class PackedScorer(HFLM):
    """HFLM for causal models in memory. `label` names the task in progress events."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        batch_size: int,
        report: Report,
        answers: Answers | None = None,
    ) -> None:
        require_markers(tokenizer)
        super().__init__(
            pretrained=model,
            tokenizer=tokenizer,
            backend="causal",
            batch_size=batch_size,
            max_length=context_length(model.config),
        )
        self._report = report
        self.answers = answers or Answers()
        self._budget = TOKENS_PER_BATCH * batch_size
        # What a setting lets go of cannot be shared: each text is then read on its own.
        self._packs: bool | None = None if setting_of(model) is None else False
        self._seconds: dict[tuple[str, str], float] = {}
        self._cut: dict[str, int] = {}
        self._whole = WholeContexts(model)
        self.kept: dict[str, Kept] = {}
        """By context: what a policy that goes by what it reads kept of it."""
        self.label = "evaluate"
        self.share: tuple[int, int, int] | None = None
        """Of the task that is told of: samples before this part of it, in it, in all."""
        self.asked = 0
        """Requests and generations asked for so far."""
        self.templated = False
        """Whether prompts stand in the tokenizer's chat template."""
        self.prompting = ""
        """How prompts were changed on their way, where they were: part of the protocol."""
        self.evict_after = ""
        """After what a cache was cut, where it was: part of the protocol."""
        self.beside: Sequence[Beside] = ()
        """Other policies that are asked the same of the prompts that are read."""

    @property
    def report(self) -> Report:
        """What hears of its work."""
        return self._report

    @property
    def shared(self) -> SharedPrompts:
        """Its answers, where its policy goes by what it reads."""
        return SharedPrompts(self.model, self.answers, self.beside)

    @property
    def packs(self) -> bool | None:
        """Whether packed rows gave this model's plain log-likelihoods; None: not tried yet."""
        return self._packs

    def _loglikelihood_tokens(
        self,
        requests: list[Request],
        disable_tqdm: bool = False,
        override_bs: int | None = None,
    ) -> list[tuple[float, bool]]:
        self.asked += len(requests)
        pairs = [(context, continuation) for _, context, continuation in requests]
        for asked, context, continuation in requests:
            # The last token is predicted, never read.
            self.note_cut(asked[0], len(context) + len(continuation) - 1 - self.max_length)
        groups = group_requests(pairs, self.max_length)
        if chooses_by_content(self.model):
            return self._after_context(groups, requests)
        if policy_of(self.model) is not None and any(len(one.branches) > 1 for one in groups):
            return self._read_once(groups, requests)
        if self._packs is None:
            self.try_packing(requests, groups)
        if self._packs:
            return self._packed(groups, requests)
        return self._plain(requests)

    def try_packing(self, requests: list[Request], groups: Sequence[Group]) -> None:
        """Finds out, once for a model, whether packed rows give its log-likelihoods."""
        self._packs, _ = self.answers.once(
            ["packs"], 0, lambda: self._packing_agrees(requests, groups)
        )

    def seconds_of(self, sample: dict[str, Any]) -> float | None:
        """What a logged sample's log-likelihoods took: shares of the batches they were computed
        in. None where they are not known."""
        pairs = [(asked[0], str(asked[1])) for asked in sample["arguments"]]
        known = [self._seconds[pair] for pair in pairs if pair in self._seconds]
        return math.fsum(known) if pairs and len(known) == len(pairs) else None

    def cut_tokens_of(self, sample: dict[str, Any]) -> int:
        """Tokens that a logged sample's longest input lost as the model reads no more; 0: none."""
        return max((self._cut.get(asked[0], 0) for asked in sample["arguments"]), default=0)

    def kept_of(self, sample: dict[str, Any]) -> Kept | None:
        """What is kept of a logged sample's first context, where caches are cut after it."""
        if not self.evict_after or not sample["arguments"]:
            return None
        context = str(sample["arguments"][0][0])
        if context in self.kept:
            return self.kept[context]
        count = min(len(self.tok_encode(context)), self.max_length)
        return self._whole.kept(max(0, count - 1))

    def note_cut(self, context: str, tokens: int) -> None:
        """Keeps that an input lost so many tokens, where it lost any."""
        if tokens > 0:
            self._cut[context] = max(tokens, self._cut.get(context, 0))

    def _took(self, asked: Sequence[Any], seconds: float) -> None:
        """Shares the seconds among the requests, each a context and continuation."""
        share = seconds / len(asked)
        self._seconds.update((tuple(one), share) for one in asked)

    def _packed(
        self, groups: Sequence[Group], requests: Sequence[Request]
    ) -> list[tuple[float, bool]]:
        count = len(requests)
        answers: list[tuple[float, bool]] = [(math.nan, False)] * count
        done = 0
        with torch.no_grad():
            prefix, rest = split_prefix(groups)
            cache = prefix_cache(self.model, prefix)
            if cache is None:
                prefix, rest = (), list(groups)
            for row in pack(rest, self._budget, len(prefix)):
                found, seconds = self.answers.once(
                    ["packed", prefix, row.tokens, row.group_of, row.branch_of]
                    + [[places, tokens] for _, places, tokens in row.targets],
                    len(row.targets),
                    functools.partial(self._forward, row, len(prefix), cache),
                )
                self._took([requests[request][0] for request, _, _ in row.targets], seconds)
                for (request, _, _), (likelihood, greedy) in zip(row.targets, found, strict=True):
                    answers[request] = (likelihood, greedy)
                done += len(found)
                self._progress(done, count, "requests")
        return answers

    def _after_context(
        self, groups: Sequence[Group], requests: Sequence[Request]
    ) -> list[tuple[float, bool]]:
        """Each context once, and what follows it from what a policy kept of it."""
        answers: list[tuple[float, bool]] = [(math.nan, False)] * len(requests)
        done = 0
        for group in groups:
            endings = [branch.tokens for branch in group.branches]
            said = self.shared.once(
                ["after context", group.context, endings],
                len(endings),
                context_of(self.model, group.context),
                functools.partial(score_after_context, self.model, group.context[-1], endings),
            )
            names = [requests[branch.request][0] for branch in group.branches]
            self._took(names, said.seconds)
            self.kept.update((context, said.kept) for context, _ in names)
            for branch, (likelihood, greedy) in zip(group.branches, said.answer, strict=True):
                where = f"request {branch.request} of {self.label}"
                require_finite(not math.isfinite(likelihood), where, self.model, group.context)
                answers[branch.request] = (likelihood, greedy)
            done += len(endings)
            self._progress(done, len(requests), "requests")
        return answers

    def _read_once(
        self, groups: Sequence[Group], requests: Sequence[Request]
    ) -> list[tuple[float, bool]]:
        """Each context once, and its endings from it, by a policy that decides at each token: a
        text may be read in any parts, and what follows one ending knows nothing of another."""
        answers: list[tuple[float, bool]] = [(math.nan, False)] * len(requests)
        done = 0
        for group in groups:
            endings = [branch.tokens for branch in group.branches]
            found, seconds = self.answers.once(
                ["read once", group.context, endings],
                len(endings),
                functools.partial(self._endings, group.context, endings),
            )
            self._took([requests[branch.request][0] for branch in group.branches], seconds)
            for branch, (likelihood, greedy) in zip(group.branches, found, strict=True):
                where = f"request {branch.request} of {self.label}"
                require_finite(not math.isfinite(likelihood), where, self.model, group.context)
                answers[branch.request] = (likelihood, greedy)
            done += len(endings)
            self._progress(done, len(requests), "requests")
        return answers

    def _endings(
        self, context: Sequence[int], endings: Sequence[Sequence[int]]
    ) -> list[tuple[float, bool]]:
        cache = read_context(self.model, context_of(self.model, context))
        return score_after_context(self.model, context[-1], endings, cache)

    def _forward(self, row: PackedRow, prefix: int, cache: Any) -> list[tuple[float, bool]]:
        """Log-likelihood in nats of the row's targets, and whether greedy decoding gives them."""
        results: list[tuple[float, bool]] = []
        for request, likelihood, greedy in score_row(self.model, row, prefix, cache):
            where = f"request {request} of {self.label}"
            require_finite(not math.isfinite(likelihood), where, self.model, row.tokens)
            results.append((likelihood, greedy))
        return results

    def _plain(self, requests: list[Request]) -> list[tuple[float, bool]]:
        """lm-eval's own loop, in slices so that progress can be told."""
        size = max(int(self.batch_size), 1) * 4
        order = sorted(range(len(requests)), key=lambda i: -len(requests[i][1] + requests[i][2]))
        answers: list[tuple[float, bool]] = [(math.nan, False)] * len(requests)
        for start in range(0, len(order), size):
            numbers = order[start : start + size]
            found, seconds = self.answers.once(
                ["plain", [[requests[i][1], requests[i][2]] for i in numbers]],
                len(numbers),
                functools.partial(self._slice, [requests[i] for i in numbers]),
            )
            self._took([requests[i][0] for i in numbers], seconds)
            for number, (likelihood, greedy) in zip(numbers, found, strict=True):
                answers[number] = (likelihood, greedy)
            self._progress(min(start + size, len(order)), len(order), "requests")
        return answers

    def _slice(self, requests: list[Request]) -> list[tuple[float, bool]]:
        """Some requests in lm-eval's padded batches."""
        found = super()._loglikelihood_tokens(requests, disable_tqdm=True)
        for (asked, context, ending), (likelihood, _) in zip(requests, found, strict=True):
            where = f"{asked!r:.60} of {self.label}"
            read = [*context, *ending]
            require_finite(not math.isfinite(likelihood), where, self.model, read)
        return [(float(likelihood), bool(greedy)) for likelihood, greedy in found]

    def _packing_agrees(self, requests: list[Request], groups: Sequence[Group]) -> bool:
        """Compares both ways on the longest and the shortest context, once for a model: a model
        may ignore a mask that is given to it, or slide its window."""
        names = inspect.signature(self.model.forward).parameters
        if not {"logits_to_keep", "position_ids", "attention_mask"} <= set(names):
            return False
        ends = [groups[0]] if len(groups) == 1 else [groups[0], groups[-1]]
        few = [Group(group.context, group.branches[:2]) for group in ends]
        numbers = [branch.request for group in few for branch in group.branches]
        with torch.no_grad(), inputs_as_they_are(self.model):
            rows = pack(few, sum(group.length for group in few))
            packed = {
                request: likelihood
                for row in rows
                for (request, _, _), (likelihood, _) in zip(
                    row.targets, self._forward(row, 0, None), strict=True
                )
            }
            plain = super()._loglikelihood_tokens([requests[i] for i in numbers], disable_tqdm=True)
        pairs = [(packed[i], value) for i, (value, _) in zip(numbers, plain, strict=True)]
        worst = max(abs(a - b) / max(1.0, abs(b) / 100) for a, b in pairs)
        if worst > TOLERANCE:
            self._report.alert(
                "packed_evaluation_refused",
                f"log-likelihoods differ by {worst:.2g} nats when requests share a row; "
                "each is computed in padded batches",
            )
        return worst <= TOLERANCE

    def _progress(self, done: float, total: int, unit: str) -> None:
        """Tells how much of the task is done: samples, where it is known of how many."""
        if self.share is not None:
            before, own, total_samples = self.share
            done, total, unit = before + own * done / total, total_samples, "samples"
        self._report.progress(self.label, done, total, unit)
