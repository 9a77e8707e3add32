"""The datasets beside the samples: side tables, statistics, other splits. Their numbers are looked at too, though no sample holds them."""

from __future__ import annotations

from collections.abc import Iterator

from datascrub.model import Part
from datascrub.readers.hdf5_format.dataset import Form, Stored, non_finite
from datascrub.readers.hdf5_format.open import FAILURES, reason_of
from datascrub.readers.hdf5_format.table import Table

_BLOCK_BYTES = 16 << 20


def is_looked_at(stored: Stored) -> bool:
    """Whether something was ever written to it that a look can judge."""
    if stored.form is Form.REFERENCES:
        return False
    try:
        return bool(stored.dataset.is_virtual or stored.dataset.id.get_storage_size())
    except FAILURES:
        return True


def beside_parts(table: Table) -> Iterator[Part]:
    """NaN, infinities and damage in the datasets that hold no value of a sample, one part a dataset."""
    for stored in table.beside():
        if is_looked_at(stored):
            yield from _look(table, stored)


def _look(table: Table, stored: Stored) -> Iterator[Part]:
    key, file = f"{table.file.key}:{stored.name}", table.file.key
    nan = inf = 0
    if table.opened.cut is not None and (table.intact(stored) is not None or (stored.is_scalar and stored.element.hasobject)):
        says, evidence = "stands in part behind the end of the file, which is truncated", {"dataset": stored.name}
        yield Part("part-truncated", key, says, evidence, file=file, lost_bytes=None)
        return
    step = max(1, _BLOCK_BYTES // max(1, stored.row_bytes) // stored.chunk_rows * stored.chunk_rows)
    try:
        if stored.is_scalar:
            nan, inf = non_finite(stored.dataset[()])
        for start in range(0, stored.length, step):
            stop = min(start + step, stored.length)
            found = non_finite(stored.rows(start, stop) if stored.is_dense else stored.raw(start, stop))
            nan, inf = nan + found[0], inf + found[1]
    except FAILURES as error:
        reason, evidence = reason_of(error), {"dataset": stored.name}
        if "no appropriate function for conversion path" in reason:
            yield Part("part-unsupported", key, f"a type that can't be read here ({reason})", evidence, file=file)
        elif table.opened.cut is not None:
            yield Part("part-truncated", key, "stands in part behind the end of the file, which is truncated", evidence, file=file, lost_bytes=None)
        else:
            yield Part("part-damaged", key, f"corrupt: its numbers can't be read ({reason})", evidence, file=file, lost_bytes=None)
        return
    if nan or inf:
        says = f"{nan:,} NaN and {inf:,} infinite numbers in {stored.name}, which stands beside the samples"
        yield Part("part-not-finite", key, says, {"dataset": stored.name, "nan_count": nan, "inf_count": inf}, file=file)
