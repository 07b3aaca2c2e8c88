"""What the Python sources say of themselves, read by their syntax alone, as JSON.

    python python_facts.py FOLDER...   # by file: lines, imports, functions, dataclasses, results
"""

import ast
import json
import sys
from pathlib import Path


def imported(tree: ast.Module) -> list[str]:
    """Every module that is imported, wherever: at the top, in a function, for types alone."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return sorted(names)


def functions(tree: ast.Module) -> list[tuple[str, int]]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [(node.name, (node.end_lineno or 0) - node.lineno + 1) for node in found]


def dataclasses(tree: ast.Module) -> dict[str, dict[str, dict[str, object]]]:
    """Fields by class: whether each has a default, and the names in its annotation."""
    return {
        node.name: {
            field.target.id: {
                "default": field.value is not None,
                "names": [one.id for one in ast.walk(field.annotation) if isinstance(one, ast.Name)],
            }
            for field in node.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        }
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "dataclass" in ast.dump(ast.Module(node.decorator_list, []))
    }


def call(tree: ast.Module) -> dict[str, object] | None:
    """Of a call's `run`: the class of its request, and the fields of each answer that it spells."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name != "run":
            continue
        request = node.args.args[0].annotation
        answers = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
        spelled = [
            [key.value for key in one.keys if isinstance(key, ast.Constant)]
            for one in answers
            if isinstance(one, ast.Dict) and None not in one.keys
        ]
        return {"request": getattr(request, "id", None), "answers": spelled, "returns": len(answers)}
    return None


def facts(path: Path) -> dict[str, object]:
    text = path.read_text()
    tree = ast.parse(text)
    return {
        "lines": text.count("\n"),
        "imports": imported(tree),
        "functions": functions(tree),
        "dataclasses": dataclasses(tree),
        "call": call(tree),
    }


if __name__ == "__main__":
    paths = sorted(path for folder in sys.argv[1:] for path in Path(folder).rglob("*.py"))
    print(json.dumps({str(path): facts(path) for path in paths}))
