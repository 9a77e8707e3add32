"""Attention and padding masks that hide everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, Rule, SetRule
from datascrub.validators.base import Validator
from datascrub.validators.sequence_mask import is_added, is_factor, sequences, shown

# Masks that begin with something shown: 1 is "shown" in most frameworks, and sequences are padded behind. Where masks begin with 0 instead (padded in
# front, or 1 for "hidden"), the uniform masks that are many are the full sequences, and those that are few hide everything. Among masks that are
# added, one of zeros alone shows everything.
_HIDES_ALL = """
    WITH mask AS (
        SELECT number, {field}.visible_count AS shown, {field}.position_count AS positions, {field}.starts_visible AS starts,
            {field}.is_added AS is_added
        FROM facts WHERE {field}.visible_count IS NOT NULL
    ), kinds AS (
        SELECT count(*) FILTER (shown = 0) AS nothing, count(*) FILTER (shown = positions) AS everything,
            count(*) FILTER (shown > 0 AND shown < positions) AS mixed, count(*) FILTER (shown > 0 AND shown < positions AND starts) AS plain,
            count(*) FILTER (is_added) AS added, count(*) FILTER (is_added AND shown = 0) AS hidden, count(*) AS masks
        FROM mask
    ), told AS (
        SELECT CASE WHEN added > 0 AND 2 * added >= mixed THEN CASE WHEN 2 * hidden <= masks THEN 'far below 0' END
            WHEN nothing > 0 AND (mixed = 0 OR 2 * plain >= mixed OR nothing * 10 <= everything) AND nothing <= mixed + everything THEN 'zero'
            WHEN everything > 0 AND mixed > 0 AND 2 * plain < mixed AND everything * 10 <= nothing THEN 'one' END AS hidden
        FROM kinds
    )
    SELECT number, hidden, positions FROM mask, told
    WHERE CASE hidden WHEN 'far below 0' THEN is_added AND shown = 0 WHEN 'zero' THEN shown = 0 WHEN 'one' THEN shown = positions END
    ORDER BY number"""


@dataclass(frozen=True)
class AttentionMask(Validator):
    """A mask over the positions of a sequence that leaves nothing to attend to.

    What it finds
        attention-mask-hides-all (error): every position is hidden. Masks with one axis longer than 1 are taken for masks of a sequence. Which of 0
        and 1 hides is read from the set: sequences begin with what is shown. Masks that are added to energies hide by -1e3 and below, and show by 0.
        Where most masks hide everything, the field means something else, and nothing is said.

    Why it breaks training
        A masked softmax divides by the sum of what is left: 0/0 is NaN, in the whole row and from there in every weight. A masked mean does the same.

    Example
        train.h5#3  attention-mask-hides-all  all 5 positions of the mask are zero: nothing is left to attend to

    What to do
        Leave the sample out: its sequence is empty. Or keep one position visible.

    Parameters and facts
        No parameters. Facts: visible_count (positions that are not 0, or are 0 in a mask that is added), position_count, starts_visible, is_added.
    """

    version: ClassVar[int] = 2
    roles: ClassVar[frozenset[Role]] = frozenset({Role.MASK})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "visible_count": Measurement("BIGINT", "positions of a sequence's mask that are not 0; in one that is added, that are", "positions", ">= 0"),
        "position_count": Measurement("BIGINT", "positions of a sequence's mask", "positions", ">= 1"),
        "starts_visible": Measurement("BOOLEAN", "whether its first position is one of them"),
        "is_added": Measurement("BOOLEAN", "whether it is 0 and far below 0: added to energies, not multiplied"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        for rows, block in column.blocks():
            flat = sequences(block)
            if flat is None:
                continue
            added = is_added(flat)
            known = added | is_factor(flat)
            its, visible = rows[known], shown(flat[known])
            made["visible_count"][its], made["position_count"][its] = visible.sum(axis=1), flat.shape[1]
            made["starts_visible"][its], made["is_added"][its] = visible[:, 0], added[known]
        return made

    def rules(self) -> Sequence[Rule]:
        return (
            SetRule(
                "attention-mask-hides-all",
                Severity.ERROR,
                "all {positions:,} positions of the mask are {hidden}: nothing is left to attend to",
                fix="leave the sample out, its sequence is empty; or keep one position visible",
                sql=_HIDES_ALL,
                scope="sample",
                needs=("visible_count", "position_count", "starts_visible", "is_added"),
            ),
        )
