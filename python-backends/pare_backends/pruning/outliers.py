"""How zeros are spread over blocks: by their outliers, OWL (Yin et al. 2023, arXiv 2310.05175), or
by how much their outputs err where each alone is pruned.

llm-compressor's own `sparsity_profile="owl"` fails in the pinned version: it takes its activations
before its session is initialized ("Cannot invoke event before initializing").
"""

from __future__ import annotations

from collections.abc import Mapping

OUTLIER = 5.0
"""An outlier's score is beyond so many times the mean score of its block (the paper's M)."""
MOST_APART = 0.08
"""A block's share of zeros is at most so far from the mean share (the paper's lambda)."""


def spread_over_blocks(
    measures: Mapping[str, float], weights: Mapping[str, int], sparsity: float
) -> dict[str, float]:
    """The share of zeros of each block: the larger its measure, the fewer zeros. The mean over all
    weights is the share that is asked for.

    measures: share of outliers, or error, by block; weights: how many it has
    """
    least, most = min(measures.values()), max(measures.values())
    if most == least:
        return dict.fromkeys(measures, sparsity)
    scaled = {name: 2 * MOST_APART * (m - least) / (most - least) for name, m in measures.items()}
    mean = sum(scaled[name] * weights[name] for name in scaled) / sum(weights.values())
    return {name: sparsity + mean - value for name, value in scaled.items()}
