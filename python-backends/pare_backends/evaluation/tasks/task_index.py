"""lm-eval's own tasks by name, read from its YAML files alone.

Nothing of lm-eval is imported, which takes seconds, and so does reading all of its 14,000 files as
YAML: names are found by their lines, and the one document that is asked for is then read whole.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pare_backends.evaluation.tasks.task_yaml import read_document
from pare_backends.failures import CallFailure

KEY_LINE = re.compile(
    rb"^[\"']?(task|group|tag|include)[\"']?:[ \t]*([^\s#].*?)?[ \t]*\r?$", re.MULTILINE
)
LIST_ITEM = re.compile(rb"[ \t]*-[ \t]*([^\s#]+)[ \t]*\r?\n")
NEAREST = 3
NEAR = 0.75
"""difflib's ratio from which on a name is taken for a misspelling."""


@dataclass
class TaskIndex:
    """Files by the name of their task or group, and the tasks of a tag."""

    root: Path
    tasks: dict[str, Path] = field(default_factory=dict)
    groups: dict[str, Path] = field(default_factory=dict)
    tags: dict[str, list[str]] = field(default_factory=dict)

    def near(self, name: str) -> list[str]:
        """Names much like this one, the nearest first."""
        known = {*self.tasks, *self.groups, *self.tags}
        return difflib.get_close_matches(name, sorted(known), n=NEAREST, cutoff=NEAR)


def tasks_folder() -> Path:
    """The folder of lm-eval's task documents, found without importing it."""
    found = importlib.util.find_spec("lm_eval")
    if found is None or found.origin is None:
        raise CallFailure("missing_environment", "Cannot look up tasks: lm-eval is not installed")
    return Path(found.origin).parent / "tasks"


def build_index(root: Path) -> TaskIndex:
    """Every name under `root`; of two files with one name the first counts, as in lm-eval."""
    index = TaskIndex(root)
    seen: dict[Path, dict[str, list[str]]] = {}
    for path in sorted(root.rglob("*.yaml"), key=Path.as_posix):
        keys = _keys(path, seen)
        if keys.get("group"):
            index.groups.setdefault(keys["group"][0], path)
            continue
        name = keys["task"][0] if keys.get("task") else None
        if name is None or name in index.tasks:
            continue
        index.tasks[name] = path
        for tag in keys.get("tag", []):
            index.tags.setdefault(tag, []).append(name)
    return index


def _keys(path: Path, seen: dict[Path, dict[str, list[str]]]) -> dict[str, list[str]]:
    """The values of a document's names, with those of what it includes where it has none itself."""
    known = seen.get(path)
    if known is not None:
        return known
    seen[path] = {}  # a document that includes itself ends here
    own = _own_keys(path.read_bytes())
    inherited: dict[str, list[str]] = {}
    for include in own.get("include", []):
        file = (path.parent / include).resolve()
        if file.is_file():
            inherited.update(_keys(file, seen))
    seen[path] = {**inherited, **own}
    return seen[path]


def _own_keys(text: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for match in KEY_LINE.finditer(text):
        value = None if match[2] is None else match[2].decode()
        if value is None:
            found[match[1].decode()] = _list_at(text, match.end() + 1)
        elif value.startswith("["):
            found[match[1].decode()] = [_plain(one) for one in value.strip("[] ").split(",")]
        else:
            found[match[1].decode()] = [_plain(value)]
    return found


def _plain(value: str) -> str:
    """A value without its quotes and what is remarked after it."""
    return value.strip().split(" #")[0].strip().strip("\"'")


def _list_at(text: bytes, start: int) -> list[str]:
    items = []
    while (match := LIST_ITEM.match(text, start)) is not None:
        items.append(match[1].decode().strip("\"'"))
        start = match.end()
    return items


def members(index: TaskIndex, name: str, seen: Sequence[str] = ()) -> list[str]:
    """The tasks that a task, group or tag stands for, each once, in lm-eval's order."""
    if name in index.tasks:
        return [name]
    if name in seen:
        return []
    if name in index.tags:
        return list(index.tags[name])
    listed = read_document(index.groups[name]).get("task") or []
    found: dict[str, None] = {}
    for entry in [listed] if isinstance(listed, str) else listed:
        own = entry if isinstance(entry, str) else _plain_member(name, entry)
        if own not in index.tasks and own not in index.groups and own not in index.tags:
            raise CallFailure(
                "bad_input", f'Cannot use the group "{name}" of lm-eval: it has no task "{own}"'
            )
        found.update(dict.fromkeys(members(index, own, [*seen, name])))
    return list(found)


def _plain_member(group: str, entry: Any) -> str:
    """The name of a member that a group gives as an object; one that it changes is no task."""
    if isinstance(entry, dict) and set(entry) <= {"task"} and isinstance(entry.get("task"), str):
        return str(entry["task"])
    if isinstance(entry, dict) and isinstance(entry.get("group"), str):
        raise CallFailure(
            "bad_input",
            f'Cannot use the group "{group}" of lm-eval: it holds a group of its own, '
            f'"{entry["group"]}", which no name can ask for',
            hint="Name its tasks instead",
        )
    raise CallFailure(
        "bad_input",
        f'Cannot use the group "{group}" of lm-eval: it changes settings of its members, which '
        "a name cannot carry",
        hint="Name its tasks instead, or write a task file",
    )
