"""What came of a training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trained:
    """Losses in the order of the steps, in nats per token unless the loss is of another kind."""

    losses: list[float]
    figures: dict[str, list[float]]  # further figures of every step, such as kl
    held_out: list[tuple[int, float]]  # steps taken before a look, and the loss that it found
    stopped: str  # "steps": all were taken; "held_out": the held-out loss fell no more
    kept: int  # steps after which the weights were as they are now
    tokens: int  # that the steps read, those of a window read twice counted twice

    @property
    def steps(self) -> int:
        """Steps taken; those after `kept` were undone."""
        return len(self.losses)

    @property
    def best_held_out(self) -> float | None:
        """The held-out loss of the weights as they are now; None: nothing was held out."""
        return min((loss for _, loss in self.held_out), default=None)

    def rows(self) -> list[tuple[str, float, str]]:
        """(name, value, unit) of what the store keeps of it."""
        rows: list[tuple[str, float, str]] = [
            ("training_steps", self.steps, "steps"),
            ("training_steps_kept", self.kept, "steps"),
            ("tokens_trained_on", self.tokens, "tokens"),
            ("first_loss", self.losses[0], "nats"),
            ("last_loss", self.losses[-1], "nats"),
            ("best_loss", min(self.losses), "nats"),
        ]
        if self.held_out:
            rows.append(("first_held_out_loss", self.held_out[0][1], "nats"))
            rows.append(("best_held_out_loss", min(loss for _, loss in self.held_out), "nats"))
        return rows

    def sentence(self) -> str:
        """Loss and steps in words, as the end of a note."""
        said = f"loss {self.losses[0]:.4f} at the first, {self.losses[-1]:.4f} at the last"
        if not self.held_out:
            return said
        first, best = self.held_out[0][1], min(loss for _, loss in self.held_out)
        said += f"; held out {first:.4f} before, {best:.4f} at best, after {self.kept} steps"
        if self.stopped == "held_out":
            said += f"; it was stopped after {self.steps}, as that fell no more"
        if self.kept == 0:
            said += "; no step made it better: the weights are the parent's"
        return said
