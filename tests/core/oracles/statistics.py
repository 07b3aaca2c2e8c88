"""Prints the values that tests/core/evidence_oracles_test.ts holds pare's statistics to.

Run in an environment with the versions that the output names:

    pip install scipy==1.17.1 statsmodels==0.14.5 numpy==2.4.6
    python statistics.py > statistics.json
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import normal_sample_size_one_tail

SCORES = {
    "right or wrong": [1.0, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0],
    "real": [0.31, -0.12, 0.05, 0.4, 0.22, -0.3, 0.11, 0.27],
    "far from zero": [1e6 + x for x in (0.1, 0.4, -0.2, 0.9, 0.35)],
}
DISAGREEMENTS = [(3, 9), (0, 6), (12, 12), (40, 70), (0, 0), (1, 0), (310, 402), (2000, 2150)]
DIFFERENCES = [
    [0.31, -0.12, 0.05, 0.4, 0.22, -0.3, 0.11, 0.27],
    [0.5, 0.5, 0.5, 0.25, -0.25],
    [1.0, 0, 0, -1, 1, 1, 0, 1, 1],
    [0.2, 0.1, 0.4, 0.3, 0.7, 0.6, 0.9, 0.8, 1.1, -0.05, 0.33, 0.21],
    [0.1, -0.1],
]
FAMILIES = [
    [0.01, 0.04, 0.005, 0.02],
    [0.6, 0.7],
    [0.03],
    [0.2, 0.0001, 0.0001, 0.9, 0.013, 0.05, 1.0],
]
EFFECTS = [(0.02, 0.4), (-0.01, 0.3), (0.25, 0.9), (0.001, 0.12)]


def disagreement(gained: int, lost: int) -> dict[str, float]:
    """McNemar's exact p-value by statsmodels; mid-p takes half of the two-sided tail's last terms
    (SciPy's binomial)."""
    table = [[5, lost], [gained, 7]]
    fewer, n = min(gained, lost), gained + lost
    mid = 2 * stats.binom.cdf(fewer, n, 0.5) - stats.binom.pmf(fewer, n, 0.5)
    exact = 1.0 if n == 0 else float(mcnemar(table, exact=True).pvalue)
    return {"gained": gained, "lost": lost, "exact": exact, "mid": float(min(1, mid))}


def sign_flips(differences: list[float]) -> float:
    """Exact two-sided p-value over all sign flips of the mean."""
    found = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=math.inf,
        alternative="two-sided",
    )
    return float(found.pvalue)


def values() -> dict[str, Any]:
    """Inputs with the libraries' answers."""
    return {
        "versions": {
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
        },
        "mean_and_error": [
            {"name": name, "scores": s, "mean": float(np.mean(s)), "sem": float(stats.sem(s))}
            for name, s in SCORES.items()
        ],
        "mcnemar": [disagreement(gained, lost) for gained, lost in DISAGREEMENTS],
        "sign_flips": [{"differences": d, "p_value": sign_flips(d)} for d in DIFFERENCES],
        "holm": [
            {"p_values": p, "adjusted": [float(x) for x in multipletests(p, method="holm")[1]]}
            for p in FAMILIES
        ],
        "samples_to_tell_apart": [
            {
                "difference": d,
                "deviation": s,
                "n": float(normal_sample_size_one_tail(d, 0.8, 0.025, s, s)),
            }
            for d, s in EFFECTS
        ],
    }


if __name__ == "__main__":
    print(json.dumps(values(), indent=2))
