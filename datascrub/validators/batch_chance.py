"""The SQL of chances: how often a batch, drawn without putting back, holds none of some samples."""

from __future__ import annotations

SIZES = """
    SELECT total, least(size, total) AS batch, ceil(total / least(size, total)) AS batches
    FROM (SELECT count(*) AS total, CAST($batch_size AS BIGINT) AS size FROM facts)"""
"""one row: samples of the set, those of a batch, batches of an epoch; NULL where no batch_size is declared"""


def chance_of_none(samples: str) -> str:
    """The chance that none of so many samples is in a batch: choose(total - samples, batch) / choose(total, batch), by logarithms of factorials."""
    left = f"(total - {samples})"
    logarithm = f"lgamma({left} + 1) - lgamma({left} - batch + 1) - lgamma(total + 1) + lgamma(total - batch + 1)"
    return f"CASE WHEN {left} < batch THEN 0.0 ELSE exp(least(0.0, {logarithm})) END"
