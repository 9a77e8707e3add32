"""A channel of an array that holds one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator
from datascrub.validators.summary import is_number

_CHANNELS = (2, 3, 4)
_LEAST_SIZE = 16
_LOOKED_AT = 16
"""values of a channel that are compared first; nearly all channels differ in these, and no other value is read"""


@dataclass(frozen=True)
class ArrayChannels(Validator):
    """One channel of an array holds a single value, while the others don't.

    What it finds
        array-channel-constant (warning): in arrays of three axes whose first or last one is 2, 3 or 4 long, a channel of which all values are equal,
        or all of them, each with another value (a plain colour). The fourth of four channels may be alpha, and is left aside. Arrays with one value
        all over are array-constant's. Where most of the set is so, it is said once.

    Why it breaks training
        A normalisation by the sample's own channels divides by maximum - minimum, or by the deviation: 0/0 in that channel, and the NaN spreads. It
        is also what a sensor leaves that failed in one band, or a loop that wrote two channels of three.

    Example
        train.h5#41  array-channel-constant  1 of 3 channels hold one value: channel 2 is 0

    What to do
        Look at the sample: leave it out where a band is missing, or add an epsilon to the divisor.

    Parameters and facts
        No parameters. Facts: channel_total (NULL where there are no channels), constant_channels, constant_channel (the first, from 0),
        constant_level.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.IMAGE, Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "channel_total": Measurement("BIGINT", "channels that are looked at: without alpha", "channels", "2 to 4"),
        "constant_channels": Measurement("BIGINT", "how many of them hold one value", "channels", ">= 0"),
        "constant_channel": Measurement("BIGINT", "the first of those, from 0; NULL without one"),
        "constant_level": Measurement("DOUBLE", "the value that it holds"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            if is_number(block.dtype) and block.dtype.kind != "c" and (channels := _by_channel(block)) is not None:
                made["channel_total"][rows], made["constant_channels"][rows] = channels.shape[1], 0
                _fill(made, rows, channels)
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            RowRule(
                "array-channel-constant",
                Severity.WARNING,
                "{constant_channels} of {channel_total} channels hold one value: channel {constant_channel} is {constant_level:g}",
                ("constant_channels", "constant_channel", "constant_level"),
                "look at the sample: leave it out where a band is missing, or add an epsilon to the divisor",
                where="constant_channels > 0 and is_constant == false",
                common="set",
            ),
        )


def _by_channel(block: np.ndarray) -> np.ndarray | None:
    """A view (n, channels, a, b) of a block (n, …), without alpha; None where no axis holds channels."""
    axes = block.shape[1:]
    if len(axes) != 3 or (axes[0] not in _CHANNELS and axes[2] not in _CHANNELS):
        return None
    view = block if axes[0] in _CHANNELS else np.moveaxis(block, -1, 1)
    view = view[:, :3]
    return view if view.shape[2] * view.shape[3] >= _LEAST_SIZE else None


def _fill(made: dict[str, np.ndarray], rows: np.ndarray, channels: np.ndarray) -> None:
    height, width = channels.shape[2:]
    step_y, step_x = max(1, height // 4), max(1, width // (_LOOKED_AT // 4))
    probe = channels[:, :, ::step_y, ::step_x]
    first = channels[:, :, :1, :1]
    for at, channel in np.argwhere((probe == first).all((2, 3))).tolist():
        values, level = channels[at, channel], float(first[at, channel, 0, 0])
        if np.isfinite(level) and (values == values[0, 0]).all():
            made["constant_channels"][rows[at]] += 1
            if made["constant_channel"][rows[at]] is np.ma.masked:
                made["constant_channel"][rows[at]], made["constant_level"][rows[at]] = channel, level
