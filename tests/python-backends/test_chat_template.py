"""A stranger's chat template is a program: it ends in a prompt or in one sentence."""

from __future__ import annotations

import mmap
import resource
import time
from types import SimpleNamespace
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from pare_backends.checkpoint import chat_template
from pare_backends.checkpoint.chat_template import in_template
from pare_backends.evaluation.chat_template import use_chat_template
from pare_backends.evaluation.packed.language_model import PackedLM
from pare_backends.evaluation.served.model import ServedLM
from pare_backends.failures import CallFailure
from pare_backends.serving.asked import Refusal, _in_template

ASKED = [{"role": "user", "content": "x"}]


class Templated:
    """Renders as a tokenizer does, which it has nothing else of."""

    name_or_path = "a stranger's"

    def __init__(self, template: str) -> None:
        self._template = template

    def apply_chat_template(self, messages: list[Any], **_: Any) -> str:
        rendered, _ = render_jinja_template(
            [messages], chat_template=self._template, add_generation_prompt=True
        )
        return str(rendered[0])


def test_a_template_is_filled_in() -> None:
    template = "{% for one in messages %}<{{ one.role }}>{{ one.content }}{% endfor %}"
    assert in_template(Templated(template), ASKED) == "<user>x"


PARTS = (
    "{% for one in messages %}<{{ one.role }}>{% for part in one.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}{% endfor %}"
)
"""As SmolVLM's: a plain message is read letter by letter, and none of them is a part."""


@pytest.mark.parametrize(
    "template", [PARTS, PARTS.replace("one.content %}", "one.content[0:9] %}")]
)
def test_a_template_that_takes_parts_alone_is_given_parts(template: str) -> None:
    assert in_template(Templated(template), ASKED) == "<user>x"
    packed: Any = object.__new__(PackedLM)
    packed.tokenizer, packed.chat_template_args = Templated(template), {}
    served: Any = object.__new__(ServedLM)
    served._tokens = lambda: Templated(template)
    for model in (packed, served):
        assert model.apply_chat_template(ASKED) == "<user>x"


def test_a_template_that_fails_on_plain_messages_is_given_parts() -> None:
    needs = "{% for one in messages %}{{ one.content[0]['text'] + '!' }}{% endfor %}"
    assert in_template(Templated(needs), ASKED) == "x!"


def test_a_template_that_leaves_out_what_is_said_asks_no_benchmark() -> None:
    tokenizer: Any = Templated("{% for one in messages %}<{{ one.role }}>{% endfor %}")
    tokenizer.chat_template = "any"
    with pytest.raises(CallFailure, match="it leaves out what a user says"):
        use_chat_template(SimpleNamespace(), tokenizer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            "it computes for more than 0.3 s",
        ),
        ("{{ lipsum(n=100000000) }}", "it computes for more than 0.3 s"),
        ("{{ 'x' * 10**10 }}", "it takes more than 256 MiB"),
        ("{{ '%0900000000d' % messages|length }}", "it takes more than 256 MiB"),
        ("{{ 'x'|center(3000000000) }}", "it takes more than 256 MiB"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "maximum recursion depth exceeded"),
        ("{% include '/etc/passwd' %}", "no loader for this environment specified"),
        ("{{ messages.__class__.__mro__ }}", "access to attribute '__class__' of 'list'"),
    ],
)
def test_a_program_in_a_templates_place_is_ended(
    template: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_template, "MOST_SECONDS", 0.3)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    began = time.process_time()
    with pytest.raises(CallFailure) as caught:
        in_template(Templated(template), ASKED)
    assert f"Cannot use the chat template of a stranger's: {why}" in caught.value.message
    assert time.process_time() - began < 5
    assert resource.getrlimit(resource.RLIMIT_AS) == limits
    mmap.mmap(-1, 300 << 20).close()  # the bound is gone with it


LATER = "{% if messages[0].content == 'x' %}fine{% else %}{% for i in range(99999) %}" + (
    "{% for j in range(99999) %}{% endfor %}{% endfor %}{% endif %}"
)
"""A template that is meant well where it is tried, and not with the prompts."""


def test_a_template_has_its_bounds_at_every_prompt_of_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat_template, "MOST_SECONDS", 0.3)
    tokenizer: Any = Templated(LATER)
    tokenizer.chat_template = LATER
    served: Any = SimpleNamespace(tokenizer=tokenizer, name="m")
    assert _in_template(ASKED, served) == "fine"
    with pytest.raises(Refusal, match=r"it computes for more than 0\.3 s"):
        _in_template([{"role": "user", "content": "y"}], served)


def test_a_template_has_its_bounds_at_every_prompt_of_an_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chat_template, "MOST_SECONDS", 0.3)
    asked = [{"role": "user", "content": "y"}]
    packed: Any = object.__new__(PackedLM)
    packed.tokenizer, packed.chat_template_args = Templated(LATER), {}
    served: Any = object.__new__(ServedLM)
    served._tokens = lambda: Templated(LATER)
    for model in (packed, served):
        assert model.apply_chat_template(ASKED) == "fine"
        with pytest.raises(CallFailure, match=r"it computes for more than 0\.3 s"):
            model.apply_chat_template(asked)
