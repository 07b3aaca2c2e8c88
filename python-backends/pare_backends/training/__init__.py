"""Training by gradients, for every family: steps, schedule, early stop, saved state."""

from pare_backends.training.held_out import held_out_loss, hold_out
from pare_backends.training.loop import train
from pare_backends.training.losses import next_token_loss
from pare_backends.training.schedule import Schedule
from pare_backends.training.trained import Trained

__all__ = ["Schedule", "Trained", "held_out_loss", "hold_out", "next_token_loss", "train"]
