"""Templates of a stranger's task file: Jinja that reads a row and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pare_backends.evaluation.tasks.records import ANY
from pare_backends.evaluation.tasks.wire_task import WireTask

KEYS = ("doc_to_text", "doc_to_target", "doc_to_choice")


def check_template(text: str) -> str | None:
    """Why a template cannot be used, as the end of a sentence; None: it can."""
    import jinja2

    try:
        return _reaching(jinja2.Environment(autoescape=False).parse(text))
    except jinja2.TemplateSyntaxError as error:
        return f"is no template at line {error.lineno}: {error.message}"
    except RecursionError:  # of its parser, and of whoever walks what that made
        return "is nested too deep"


def _reaching(tree: Any) -> str | None:
    """What in a parsed template reaches into Python; None: nothing does."""
    from jinja2 import nodes

    for node in tree.find_all(nodes.Getattr):
        if node.attr.startswith("_"):
            return f'reaches into Python by "{node.attr}", which no row has'
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.arg, nodes.Const) and str(item.arg.value).startswith("__"):
            return f'reaches into Python by "{item.arg.value}", which no row has'
    return None


def template_fields(text: str) -> set[str]:
    """The names of a row that a template asks for."""
    import jinja2
    from jinja2 import meta

    environment = jinja2.Environment(autoescape=False)
    return set(meta.find_undeclared_variables(environment.parse(text)))


def sandbox_templates() -> None:
    """From here on lm-eval's templates run in Jinja's sandbox, which gives an ordinary template the
    same text and a template that reaches for Python's internals a `SecurityError`."""
    import lm_eval.utils
    from jinja2 import BaseLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    plain: Any = lm_eval.utils.env
    if isinstance(plain, ImmutableSandboxedEnvironment):
        return
    sandbox = ImmutableSandboxedEnvironment(
        loader=BaseLoader(), undefined=StrictUndefined, keep_trailing_newline=True
    )
    sandbox.filters.update(plain.filters)
    lm_eval.utils.env = sandbox


def required_fields(task: WireTask, definition: Mapping[str, Any]) -> dict[str, str] | None:
    """Fields that every row must have: those that are said, or what the templates of a task file
    ask for. None: nobody can tell, as code makes the rows."""
    said = (definition.get("metadata") or {}).get("fields")
    if said is not None:
        return dict(said)
    if task.origin != "file" or definition.get("process_docs") is not None:
        return None
    found: set[str] = set()
    for key in KEYS:
        value = definition.get(key)
        if isinstance(value, str):
            # lm-eval takes a plain word for a field, and for a text where no row has that field.
            found |= {value} if value.isidentifier() else template_fields(value)
    return dict.fromkeys(sorted(found), ANY)
