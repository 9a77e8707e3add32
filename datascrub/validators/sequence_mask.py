"""What a mask over the positions of a sequence shows: by 0 and 1, or by numbers that are added to energies."""

from __future__ import annotations

import numpy as np

from datascrub.validators.summary import is_number

_ADDED = -1e3
"""at and below it what is added to an energy hides it: people write -1e4, -1e9, the smallest number of the type, or -Inf"""


def sequences(block: np.ndarray) -> np.ndarray | None:
    """(n, positions) of a block (n, …) of numbers with one axis longer than 1; None for others."""
    shape = block.shape[1:]
    positions = int(np.prod(shape))
    return block.reshape(len(block), positions) if is_number(block.dtype) and positions in shape and positions > 1 else None


def is_added(flat: np.ndarray) -> np.ndarray:
    """(n,) bool of masks (n, positions): whether they are added to energies, 0 where they show and far below 0 where they hide, somewhere."""
    if flat.dtype.kind in "bu":
        return np.zeros(len(flat), bool)
    hides = flat <= _ADDED
    made: np.ndarray = (hides | (flat == 0)).all(axis=1) & hides.any(axis=1)
    return made


def is_factor(flat: np.ndarray) -> np.ndarray:
    """(n,) bool: whether all values are finite and none is negative, as in masks of 0 and 1 that are multiplied."""
    return np.ones(len(flat), bool) if flat.dtype.kind in "bu" else (np.isfinite(flat) & (flat >= 0)).all(axis=1)


def shown(flat: np.ndarray) -> np.ndarray:
    """(n, positions) bool: which positions are not 0 in a mask that is multiplied, not far below 0 in one that is added."""
    return np.where(is_added(flat)[:, np.newaxis], flat > _ADDED, flat != 0)
