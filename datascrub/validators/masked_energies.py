"""Energies that a mask hides, and that break the softmax all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.model import MASKED, Column, Field, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.sequence_mask import is_factor, sequences

_ENOUGH = 10
"""samples that hide something, below which none of them is odd where nothing is declared"""

# Sequences begin with what is shown, so that 0 hides; where they begin with 0, what stands alone in a mask tells: the many are the full ones.
# Undeclared, an array is taken for energies where all that the masks show could be one, and only the odd sample is named: a field of pressures in
# hPa, one of levels in dB, or one whose padding is a sentinel, is none.
_TOO_LARGE = f"""
    WITH kinds AS (
        SELECT count(*) FILTER (shown = 0) AS nothing, count(*) FILTER (shown = positions) AS everything,
            count(*) FILTER (shown > 0 AND shown < positions) AS mixed, count(*) FILTER (shown > 0 AND shown < positions AND starts) AS plain
        FROM (SELECT {{mask}}.visible_count AS shown, {{mask}}.position_count AS positions, {{mask}}.starts_visible AS starts FROM facts)
    ), told AS (
        SELECT CASE WHEN 2 * plain >= mixed THEN 'zero' WHEN nothing > 0 AND everything * 10 <= nothing THEN 'one' END AS hides
        FROM kinds WHERE mixed > 0
    ), sides AS (
        SELECT number, CASE hides WHEN 'zero' THEN {{field}}.largest_at_zero ELSE {{field}}.largest_at_one END AS hidden,
            CASE hides WHEN 'zero' THEN {{field}}.largest_at_one ELSE {{field}}.largest_at_zero END AS shown
        FROM facts, told WHERE hides IS NOT NULL
    ), judged AS (
        SELECT number, hidden, shown, hidden > $exp_limit AND shown <= $exp_limit AS is_infinite, hidden - shown > $exp_zero AS is_swamped
        FROM sides WHERE hidden IS NOT NULL AND shown IS NOT NULL
    ), counted AS (
        SELECT count(*) AS hiding, count(*) FILTER (is_infinite OR is_swamped) AS found, bool_and(shown <= $exp_limit) AS may_be_energies FROM judged
    ), named AS (
        SELECT number, hidden, shown, found, hiding, coalesce($exp, false) AS is_declared,
            CASE WHEN is_swamped THEN 'taking off the maximum before the mask leaves 0/0'
                ELSE 'its exponential is infinite, and Inf * 0 is NaN' END AS so
        FROM judged, counted WHERE (is_infinite OR is_swamped)
            AND (coalesce($exp, false) OR (may_be_energies AND hidden > $exp_limit AND hiding >= {_ENOUGH} AND found <= greatest(1, hiding // 100)))
    )
    SELECT number, hidden, shown, so, $precision AS precision, found, hiding, CASE WHEN is_declared THEN 'error' END AS severity FROM named
        WHERE found < 3 OR 2 * found <= hiding
    UNION ALL
    SELECT NULL, max(hidden), arg_max(shown, hidden), arg_max(so, hidden), $precision, any_value(found), any_value(hiding), 'error' FROM named
        WHERE found >= 3 AND 2 * found > hiding HAVING count(*) > 0
    ORDER BY number"""


@dataclass(frozen=True)
class MaskedEnergies(Validator):
    """A mask that hides the largest energies, which break a masked softmax from behind it.

    What it finds
        masked-energies-too-large: hidden energies whose exponential is infinite in the precision of the training, or so far above all that the mask
        shows that, the maximum taken off, nothing of it is left. An error where the field is declared to be energies (exp = true in
        [data.fields.NAME]); where most samples are so, it is said once. Undeclared, a warning on the odd one: the set shows no value whose
        exponential would overflow, and no other sample in a hundred hides one. Looked at are floating arrays beside the only mask of the set, of the
        mask's own shape, with one axis longer than 1.

    Why it breaks training
        A softmax written as exp(e) * mask / sum(exp(e) * mask) multiplies Inf with 0, which is NaN. One that subtracts the maximum first takes the
        hidden one: exp(3 - 120) is 0 in float32, and the sum of what is shown is 0/0. The mask hides the cause, so that the data look sound.

    Example
        train.h5#5  masked-energies-too-large  the mask hides 120, and shows 2.1 at most: taking off the maximum before the mask leaves 0/0 in float32

    What to do
        Mask the energies before the softmax: where(mask, energy, -1e4). Or set what is hidden to the smallest of what is shown.

    Parameters and facts
        No parameters: exp and the precision are declared. Nothing of an exponential is left 104 below the maximum in float32, 17.3 in float16, 92.9
        in bfloat16; infinite it is from 88.7 on, 11.1 in float16. Which of 0 and 1 hides is read from the set. Facts: largest_at_zero,
        largest_at_one (largest finite value where the mask is 0, and where it is not).
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.ARRAY})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "largest_at_zero": Measurement("DOUBLE", "largest finite value where the mask beside it is 0; NULL where it is nowhere"),
        "largest_at_one": Measurement("DOUBLE", "largest finite value where the mask beside it is not 0; NULL where it is nowhere"),
    }

    def applies(self, field: Field) -> bool:
        return super().applies(field) and MASKED in field.declared

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        masks = column.declared.get(MASKED)
        for rows, block in column.blocks() if masks is not None else ():
            values = sequences(block)
            if values is None or block.dtype.kind in "biu":
                continue
            for some, at_zero in _zeros(masks, rows, block.shape[1:]):
                wide = values[some].astype(np.float64)
                is_finite = np.isfinite(wide)
                for name, inside in (("largest_at_zero", at_zero), ("largest_at_one", ~at_zero)):
                    counted = inside & is_finite
                    is_any = counted.any(axis=1)
                    made[name][rows[some][is_any]] = np.where(counted, wide, -np.inf).max(axis=1)[is_any]
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "masked-energies-too-large",
                Severity.WARNING,
                "the mask hides {hidden:g}, and shows {shown:g} at most: {so} in {precision}",
                fix="mask the energies before the softmax: where(mask, energy, -1e4); or set what is hidden to the smallest of what is shown",
                sql=_TOO_LARGE,
                scope="sample",
                needs=("largest_at_zero", "largest_at_one"),
            ),
        )


def _zeros(masks: Any, rows: np.ndarray, shape: tuple[int, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(places in rows, where the masks of these samples are 0) of those whose mask has this shape and is one to multiply with."""
    if isinstance(masks, np.ndarray):
        pairs = [(np.arange(len(rows)), masks[rows])] if masks.shape[1:] == shape else []
    else:
        held = [(at, masks[row]) for at, row in enumerate(rows.tolist())]
        pairs = [(np.array([at]), mask[np.newaxis]) for at, mask in held if mask is not None and mask.shape == shape]
    made = []
    for places, block in pairs:
        flat = sequences(block)
        if flat is not None:
            known = is_factor(flat)
            made.append((places[known], flat[known] == 0))
    return made
