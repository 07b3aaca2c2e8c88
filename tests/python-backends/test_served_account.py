"""A budget is never passed, a server's wait holds for all, and Anthropic's messages are asked."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from served_fixtures import Reply, Running, serving

from pare_backends.evaluation.served.account import LEDGER, Account, Use, worst_use
from pare_backends.evaluation.served.client import ServedClient
from pare_backends.evaluation.served.patience import Patience
from pare_backends.evaluation.served.probe import ServerAbilities
from pare_backends.evaluation.served.requests import chat, generate
from pare_backends.failures import CallFailure

QUICK = Patience(seconds=2, first_wait=0.01)
KEY = "sk-account-test-0123456789"


def completion(text: str, read: int, written: int) -> dict[str, Any]:
    usage = {"prompt_tokens": read, "completion_tokens": written}
    return {"choices": [{"text": text, "finish_reason": "stop"}], "usage": usage}


def asking(server: Running, account: Account, patience: Patience = QUICK) -> ServedClient:
    return ServedClient(server.endpoint(), patience=patience, account=account)


def ledger_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LEDGER).read_text().splitlines()]


def test_a_request_whose_worst_case_passes_the_budget_is_not_sent(
    tmp_path: Path,
) -> None:
    worst = worst_use({"prompt": "abcd", "max_tokens": 10})
    assert worst == Use(4 + 256, 10)
    account = Account(str(tmp_path), most_tokens=2 * (4 + 256 + 10))
    with serving(lambda path, body: (200, completion("x", 3, 2))) as server:
        client = asking(server, account, patience=QUICK)
        # Each is begun at 270 tokens at worst and comes to 5: 540 - 270 leaves room for 54 more.
        for _ in range(55):
            generate(client, "abcd", 10, [], {})
        sent = len(server.asked)
        with pytest.raises(CallFailure, match=r"takes 270 tokens at worst, .* 540 tokens .* 275"):
            generate(client, "abcd", 10, [], {})
        assert len(server.asked) == sent == 55
        with pytest.raises(CallFailure, match="was not sent"):  # another process reads the same
            generate(asking(server, account), "abcd", 10, [], {})
        assert len(server.asked) == 55


def test_a_request_waits_for_those_under_way_where_their_worst_fills_the_budget(
    tmp_path: Path,
) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        time.sleep(0.1)
        return 200, completion("x", 3, 2)

    account = Account(str(tmp_path), most_tokens=300)  # one at a time, at 270 tokens at worst
    with serving(answer) as server:
        client = asking(server, account)
        with ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(lambda _: generate(client, "abcd", 10, [], {}), range(6)))
        assert texts == ["x"] * 6
        assert server.most_at_once == 1
        with pytest.raises(CallFailure, match="was not sent"):
            generate(client, "abcd" * 20, 10, [], {})


def test_money_is_by_the_prices_and_what_was_never_answered_counts_at_its_worst(
    tmp_path: Path,
) -> None:
    account = Account(str(tmp_path), input_price=2.0, output_price=10.0, most_money=0.0013)
    with serving(lambda path, body: (200, completion("x", 100, 5))) as server:
        client = asking(server, account, patience=QUICK)
        generate(client, "abcd", 10, [], {})
        begun, answered = ledger_of(tmp_path)
        assert begun["money"] == pytest.approx((260 * 2 + 10 * 10) / 1e6)
        assert answered["money"] == pytest.approx((100 * 2 + 5 * 10) / 1e6)
        assert begun["request"] == answered["answered"] and answered["seconds"] >= 0
        # A process that was killed after it had sent: half a line, then the budget goes on.
        damaged = ({"answered": "a", "read": 5}, {"request": "b", "read": "?", "written": 1})
        lines = [{**begun, "request": "killed"}, *damaged]
        with (tmp_path / LEDGER).open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines) + '{"answ')
        # .00025 + .00062 are spent; another .00062 would be .00149.
        with pytest.raises(CallFailure, match=r"0\.000620 at worst, .* 0\.0013 .* 0\.000870"):
            generate(asking(server, account), "abcd", 10, [], {})


def test_openrouter_is_told_who_may_answer_and_says_what_it_took(tmp_path: Path) -> None:
    routing = {"only": ["deepinfra"], "quantizations": ["fp8"]}
    answered = completion("x", 100, 5)
    by_prices = (100 * 2 + 5 * 10) / 1e6
    # A cost of 0 frees nobody of the prices that the user gave.
    for cost, in_dollars, money in (
        (0.00042, True, 0.00042),
        (0.00042, False, by_prices),
        (0, True, by_prices),
    ):
        answered["usage"]["cost"] = cost
        folder = tmp_path / f"{cost} {in_dollars}"
        account = Account(str(folder), input_price=2.0, output_price=10.0, in_dollars=in_dollars)
        with serving(lambda path, body: (200, answered)) as server:
            client = ServedClient(server.endpoint(routing=routing), None, QUICK, account=account)
            generate(client, "abcd", 10, [], {})
            assert server.asked[0][1]["provider"] == routing
        assert ledger_of(folder)[1]["money"] == pytest.approx(money)


def test_what_is_refused_costs_nothing(tmp_path: Path) -> None:
    account = Account(str(tmp_path), most_tokens=300)
    with serving(lambda path, body: (400, {"error": {"message": "no"}})) as server:
        client = asking(server, account, patience=QUICK)
        for _ in range(5):
            with pytest.raises(CallFailure, match="no"):
                generate(client, "abcd", 10, [], {})
        assert len(server.asked) == 5


def test_a_wait_that_one_request_is_told_holds_for_the_others_and_the_next_process(
    tmp_path: Path,
) -> None:
    account = Account(str(tmp_path))
    busy: list[Reply] = [(429, {"error": "slow down"})]

    def answer(path: str, body: dict[str, Any]) -> Reply:
        return busy.pop() if busy else (200, completion("x", 1, 1))

    with serving(answer, {"retry-after": "1"}) as server:
        first = asking(server, account, patience=Patience(seconds=0.5))
        with pytest.raises(CallFailure, match="asks to wait 1 s"):
            generate(first, "a", 1, [], {})
        with pytest.raises(CallFailure, match=r"asks to wait (0\.9|1 s)"):  # it is not asked again
            generate(first, "b", 1, [], {})
        assert len(server.asked) == 1
        began = time.monotonic()
        other = asking(server, account, patience=QUICK)
        generate(other, "c", 1, [], {})
        assert time.monotonic() - began > 0.5
        assert len(server.asked) == 2


def test_messages_are_asked_as_anthropic_documents_them(tmp_path: Path) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        content = [
            {"type": "thinking", "thinking": "?"},
            {"type": "text", "text": "forty-two"},
        ]
        usage = {"input_tokens": 2, "cache_read_input_tokens": 10, "output_tokens": 3}
        return 200, {
            "type": "message",
            "content": content,
            "stop_reason": "end_turn",
        } | {"usage": usage}

    with serving(answer) as server:
        endpoint = server.endpoint(api="messages")
        client = ServedClient(endpoint, KEY, QUICK, account=Account(str(tmp_path)))
        abilities = ServerAbilities(client, None)
        assert not abilities.completes() and abilities.unpenalized() == {}
        assert server.asked == []  # what the interface has not is known without asking
        assert chat(client, "What?", 8, ["\n", "END"], {}) == "forty-two"
        path, body = server.asked[0]
        assert path == "/messages"
        assert body == {
            "model": "tiny",
            "messages": [{"role": "user", "content": "What?"}],
            "max_tokens": 8,
            "temperature": 0,
            "stop_sequences": ["END"],
        }
        assert server.keys == [None]  # no bearer: the key is in x-api-key
        assert client.transport._http._client.headers["x-api-key"] == KEY
        assert client.transport._http._client.headers["anthropic-version"] == "2023-06-01"
        assert ledger_of(tmp_path)[1]["read"] == 12
        assert KEY not in (tmp_path / LEDGER).read_text()


def test_a_key_comes_from_the_variable_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pare_backends.evaluation.served.open_served import served_model

    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "sk-other")
    monkeypatch.setitem(os.environ, "OWN_KEY", KEY)
    said: list[str] = []
    with serving(lambda path, body: (401, {"error": {"message": f"{KEY} is wrong"}})) as server:
        endpoint = server.endpoint(key_variable="OWN_KEY", headers={"X-Title": "pare"})
        from evaluation_fixtures import Events

        model, _ = served_model(endpoint, None, Events().report, QUICK)
        with pytest.raises(CallFailure) as failed:
            generate(model.client, "a", 1, [], {})
        said.append(f"{failed.value} {failed.value.hint}")
        assert server.keys == [f"Bearer {KEY}"]
    assert "OWN_KEY" in said[0] and KEY not in said[0] and "[key] is wrong" in said[0]
