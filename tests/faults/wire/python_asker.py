"""Asks servers as an evaluation and a judge do, one a line of standard input: {as, url, seconds}.

A sentence is a `CallFailure`: anything else is a crash to the user.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.endpoint import Endpoint, Judge
from pare_backends.evaluation.served.patience import Patience
from pare_backends.evaluation.served.requests import Unlike, chat, echo, generate
from pare_backends.failures import CallFailure

KEY = os.environ["PARE_TEST_KEY"]


def client_of(kind: type[Endpoint], url: str, seconds: float) -> ServedClient:
    endpoint = kind(url, timeout_seconds=seconds, patience_seconds=seconds)
    return ServedClient(endpoint, KEY, Patience(seconds, seconds, 0.01, 0.05))


def evaluated(url: str, seconds: float) -> Any:
    """A list of models, a generation, and the likelihoods of a text."""
    client = client_of(Endpoint, url, seconds)
    text = generate(client, "two and two", 4, ["."], {})
    scored = echo(client, "two and two")
    return [client.model, text, scored.likelihoods, scored.text]


def judged(url: str, seconds: float) -> Any:
    client = client_of(Judge, url, seconds)
    return [client.model, chat(client, "is it right?", 8, [], {"seed": 0}), client.silences]


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    work = {"evaluated": evaluated, "judged": judged}[asked["as"]]
    try:
        return {"result": work(asked["url"], asked["seconds"])}
    except CallFailure as failure:
        return {"said": failure.message}
    except Unlike as unlike:
        return {"said": f"Cannot score: {unlike}"}
    except Exception as error:
        return {"fault": "".join(traceback.format_exception(error))[-3_000:]}


for line in sys.stdin:
    sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
    sys.stdout.flush()
