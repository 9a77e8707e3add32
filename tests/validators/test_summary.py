"""Summaries of blocks of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators.summary import Summary, summarise


def summary_of(block: np.ndarray) -> Summary:
    return summarise(Column(Field("data", Role.ARRAY, Kind.ARRAY), block))


@pytest.mark.parametrize("size", [7, 3072, 8193, 50_000])
def test_a_sample_is_summarised_alike_in_any_batch(size: int) -> None:
    """Mean and deviation of a sample are the same to the last bit alone, among three, and among twenty."""
    block = np.random.default_rng(0).normal(size=(20, size)).astype(np.float32)
    whole = summary_of(block)
    for height in (1, 3):
        parts = [summary_of(block[start : start + height]) for start in range(0, len(block), height)]
        for name in ("minimum", "maximum", "mean", "deviation"):
            assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name)), (name, height)
