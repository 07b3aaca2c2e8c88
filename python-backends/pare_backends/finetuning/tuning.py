"""What every method of this family does around the training loop: windows, steps, what is said."""

from __future__ import annotations

from typing import Any

from pare_backends.methods.context import Context
from pare_backends.training import (
    Schedule,
    Trained,
    held_out_loss,
    hold_out,
    next_token_loss,
    train,
)
from pare_backends.training.knobs import TrainingKnobs
from pare_backends.training.loop import LossOf
from pare_backends.training.schedule import steps_of


def tune(
    name: str,
    model: Any,
    params: TrainingKnobs,
    context: Context,
    loss_of: LossOf = next_token_loss,
) -> Trained:
    """Trains what asks for a gradient on the study's training windows; notes and figures say what
    it took. name: the method's, for the note; loss_of: what is to fall, held out too"""
    windows, held = hold_out(context.training(params.tokens), params.held_out, context)
    epochs, batch = params.epochs, params.batch
    steps = steps_of(epochs, len(windows), batch) if epochs > 0 else params.steps
    schedule = Schedule(params.lr, steps, batch, params.schedule, params.warmup)
    look = None if held is None else held_out_loss(held, batch, loss_of)
    trained = train(model, loss_of, windows, schedule, context, look)
    spared = "" if held is None else f", {len(held)} more held out"
    context.notes.append(
        f"{name} took {trained.steps} steps on {len(windows)} training windows of {params.tokens}"
        f" tokens{spared}: {trained.sentence()}"
    )
    for metric, value, unit in trained.rows():
        context.figure(metric, value, unit)
    return trained
