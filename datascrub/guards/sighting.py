"""What a guard saw: the first place of a step where a number was not finite, or too big."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

ACTIONS = ("raise", "warn", "record", "skip")
BIG_SHARE = 0.5
"""of the largest number of a type: in float16 no number reaches 1e10, and one above 32,752 is a doubling away from infinity"""
_SHOWN = 5


@dataclass(frozen=True)
class Sighting:
    """One tensor that should not be as it is.

    step: forward passes before it, from 0. way: input, forward, loss, backward (a gradient of an output) or gradient (of a parameter).
    module: the name of the module in the model, and its class; a parameter's name for way gradient.
    nan, positive_inf, negative_inf, big: how many values of `size`; largest: the largest finite magnitude. All 0 where the tensor was freed before
    it could be counted. rows: its bad places along the batch axis; keys: those of the batch, where they were given. because: what is known of the
    cause.
    """

    step: int
    way: str
    module: str
    kind: str
    dtype: str
    size: int
    nan: int
    positive_inf: int
    negative_inf: int
    big: int
    largest: float
    rows: tuple[int, ...] = ()
    keys: tuple[Hashable, ...] = ()
    because: str = ""

    @property
    def bad(self) -> int:
        """Values that are not finite."""
        return self.nan + self.positive_inf + self.negative_inf

    def __str__(self) -> str:
        return f"step {self.step}, {self.told()}"

    def told(self) -> str:
        """The sentence without the step."""
        counted = ((self.nan, "NaN"), (self.positive_inf, "+Inf"), (self.negative_inf, "-Inf"), (self.big, "too big"))
        found = ", ".join(f"{count:,} {name}" for count, name in counted if count) or "a value that is not finite"
        where = f"{self.module} ({self.kind})" if self.module else self.kind
        share = f" ({(self.bad or self.big) / self.size:.2%})" if self.size else ""
        told = f"{self.way}: {where} holds {found} among {self.size:,} {self.dtype} values{share}"
        if self.keys or self.rows:
            named = [str(each) for each in (self.keys or self.rows)]
            more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
            told += f"; {'samples' if self.keys else 'rows'} {', '.join(named[:_SHOWN])}{more}"
        return f"{told}; {self.because}" if self.because else told


class NotFiniteError(ArithmeticError):
    """A guard with action "raise" saw something."""

    def __init__(self, sighting: Sighting) -> None:
        super().__init__(str(sighting))
        self.sighting = sighting

    def __reduce__(self) -> tuple[type[NotFiniteError], tuple[Sighting]]:
        return NotFiniteError, (self.sighting,)


class NotFiniteWarning(RuntimeWarning):
    """A guard with action "warn" saw something."""
