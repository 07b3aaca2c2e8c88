"""What tests of a rubric's judge share: a scripted one, and answers that it is asked of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evaluation_fixtures import Events, wire_task
from served_fixtures import Reply, Running

from pare_backends.evaluation.answers import Answers
from pare_backends.evaluation.scoring.answer import Answer, Score
from pare_backends.evaluation.scoring.context import Scoring, Surroundings
from pare_backends.evaluation.scoring.judges import judge_openers
from pare_backends.evaluation.scoring.scorer import score_answers
from pare_backends.evaluation.served.endpoint import Judge
from pare_backends.evaluation.tasks.documents import Documents
from pare_backends.evaluation.tasks.wire_task import WireScorer

RUBRIC: dict[str, Any] = {
    "name": "quality",
    "about": "You judge an answer.",
    "mode": "score",
    "scale": [1, 5],
    "criteria": [
        {"name": "right", "asks": "Is it right?", "weight": 3},
        {"name": "clear", "asks": "Is it clear?", "weight": 1},
    ],
    "examples": [
        {
            "question": "1 + 1?",
            "answer": "2",
            "scores": {"right": 5, "clear": 5},
            "because": "It is.",
        }
    ],
    "reason": True,
    "reply_tokens": 100,
    "cut": [
        {"part": "answer", "keep": "ends", "least": 40},
        {"part": "question", "keep": "end", "least": 40},
    ],
}
PAIRS = {**RUBRIC, "name": "pairs", "mode": "pairwise", "examples": []}


def said(text: str | None, **more: Any) -> Reply:
    """A chat's answer with counts."""
    usage = {"prompt_tokens": 50, "completion_tokens": 7}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    return 200, {"model": "the-judge", "choices": [choice], "usage": usage}


def is_probe(body: Mapping[str, Any]) -> bool:
    """Whether a request only finds out what the server takes."""
    prompt = body.get("prompt") or body["messages"][0]["content"]
    return "is to be judged" not in prompt


def judging(
    reply: Callable[[str, dict[str, Any]], Reply],
    *,
    schemas: Sequence[str] = (),
    models: Mapping[str, Any] | None = None,
) -> Callable[[str, dict[str, Any]], Reply]:
    """A server of chats that takes these forms of a schema, and answers a question by `reply`."""

    def answer(path: str, body: dict[str, Any]) -> Reply:
        if path == "/models":
            return 200, {"data": [{"id": "tiny", **(models or {})}]}
        if path != "/chat/completions":
            return 404, {"error": "Not Found"}
        form = body.get("response_format")
        if form is not None and form["type"] not in schemas:
            return 400, {"error": {"message": "response_format is not known"}}
        if is_probe(body):
            return said('{"ok": 1}')
        return reply(body["messages"][0]["content"], body)

    return answer


def values(right: int, clear: int) -> str:
    return json.dumps({"reason": "so", "right": right, "clear": clear})


def score(
    servers: Running | Sequence[Running],
    texts: Sequence[str],
    rubric: Mapping[str, Any] = RUBRIC,
    *,
    rows: Sequence[dict[str, Any]] | None = None,
    events: Events | None = None,
    **judge: Any,
) -> list[Score]:
    """The answers to a question of options, whose right one is 5 USD, as the judges score them."""
    asked = rows or [{"question": "What?", "answer": "5 USD", "kind": "price"}] * len(texts)
    scorer = WireScorer(
        scorer="rubric_judge",
        version="1",
        params={"rubric": dict(rubric), "question": None, "reference": None},
        reads=["text"],
        metrics=[dataclasses.replace(wire_task("options").scorers[0].metrics[0], metric="judged")],
        judges=True,
        python_path=None,
    )
    every = [servers] if isinstance(servers, Running) else list(servers)
    kinds = [Judge(one.base_url, "tiny", **judge) for one in every]
    report = (events or Events()).report
    judges = judge_openers(kinds[0], kinds[1:], None, None, report)
    around = Surroundings(report, Answers(), judges=judges)
    documents = Documents(list(asked), [str(n) for n in range(len(asked))], [], "")
    answers = [Answer(texts=(text,)) for text in texts]
    return score_answers(
        Scoring(wire_task("options"), scorer, documents, range(len(texts)), answers, around)
    )
