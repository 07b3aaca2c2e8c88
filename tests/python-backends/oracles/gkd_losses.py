"""Records what trl's own loss gives, for test_distillation_loss.py: run once, its result is kept.

pip install --no-deps --target FOLDER trl==1.16.0
PYTHONPATH=FOLDER <python of the default environment> gkd_losses.py > gkd_losses.json
"""

import json

import numpy as np
import torch
import trl
from trl.experimental.gkd import GKDTrainer


def main() -> None:
    draw = np.random.default_rng(14)
    student, teacher = (np.round(2 * draw.standard_normal((2, 3, 7)), 3) for _ in range(2))
    losses = [
        {"beta": beta, "temperature": temperature, "loss": value.tolist()}
        for beta in (0.0, 0.1, 0.5, 0.9, 1.0)
        for temperature in (1.0, 2.0, 5.0)
        for value in [
            GKDTrainer.generalized_jsd_loss(
                torch.tensor(student),
                torch.tensor(teacher),
                beta=beta,
                temperature=temperature,
                reduction="none",
            ).sum(-1)
        ]
    ]
    logits = {"student": student.tolist(), "teacher": teacher.tolist()}
    print(json.dumps({"trl": trl.__version__, **logits, "losses": losses}, indent=1))


main()
