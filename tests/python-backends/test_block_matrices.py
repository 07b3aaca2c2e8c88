"""The linear matrices of blocks by name, as the facts have them."""

from __future__ import annotations

from pare_backends.models.blocks import block_matrices, runs
from pare_backends.models.layout import Layout


def test_blocks_that_differ_are_told_by_what_they_have() -> None:
    """A dense block without attention, then three with attention and two experts, one wider."""
    first = ["conv.in_proj", "mlp.w1", "mlp.w2"]
    other = ["attn.q_proj", "mlp.experts.0.w1", "mlp.experts.0.w2", "mlp.experts.1.w1"]
    other += ["mlp.experts.1.w2", "mlp.shared.w1"]
    linear = [f"model.layers.0.{one}" for one in first]
    linear += [f"model.layers.{block}.{one}" for block in (1, 2, 3) for one in other]
    layout = Layout((*linear, "project"), "model.embed_tokens", None, {})
    shapes = {layer: (8, 4) for layer in layout.linear}
    shapes["model.layers.2.mlp.shared.w1"] = (16, 4)
    rows = block_matrices(layout, shapes)
    own = [(row["name"], row["blocks"], row.get("experts")) for row in rows]
    # Each block's own order is kept, whichever block was seen first.
    assert own == [
        ("project", [[-1, -1]], None),
        ("attn.q_proj", [[1, 3]], None),
        ("mlp.experts.w1", [[1, 3]], 2),
        ("mlp.experts.w2", [[1, 3]], 2),
        ("mlp.shared.w1", [[2, 2]], None),
        ("mlp.shared.w1", [[1, 1], [3, 3]], None),
        ("conv.in_proj", [[0, 0]], None),
        ("mlp.w1", [[0, 0]], None),
        ("mlp.w2", [[0, 0]], None),
    ]
    counted = sum(
        row["out_features"] * row["in_features"] * row.get("experts", 1)
        for row in rows for first, last in row["blocks"] for _ in range(first, last + 1)
    )  # fmt: skip
    assert counted == sum(rows_of * columns for rows_of, columns in shapes.values())


def test_runs_of_neighbours() -> None:
    assert runs([5, 0, 1, 3]) == [[0, 1], [3, 3], [5, 5]] and runs([]) == []
