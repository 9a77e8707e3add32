"""A tf.data pipeline without the samples in quarantine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from datascrub.handover.kept import RunLike, kept_of, same_length


def drop_quarantined(ds: Any, run: RunLike, key: Callable[..., Any] | None = None) -> Any:
    """The elements of a tf.data.Dataset that a run keeps, before it is shuffled or batched.

    Without `key`, elements are counted: the pipeline must read the source in its order (TFRecord files sorted by name, one after the other).
    key: from an element to its key as a string tensor, where the elements carry it; then any order will do.
    Raises UsageError where the pipeline knows its length, and the run measured another number of samples.
    """
    import tensorflow as tf

    kept = kept_of(run)
    if key is not None:
        dropped = tf.constant(sorted(kept.dropped) or [""], tf.string)  # a table of none can't be built; no key is empty
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(dropped, tf.ones_like(dropped, tf.int64)), 0)
        return ds.filter(lambda *element: table.lookup(key(*element)) == 0)
    length = int(ds.cardinality())
    if length >= 0:  # negative: unknown or infinite
        same_length(kept, length)
    mask = tf.constant(kept.mask)
    checked = ds.enumerate().map(lambda number, element: (_within(tf, number, len(kept.mask)), element))
    return checked.filter(lambda number, _: mask[number]).map(lambda _, element: element)


def _within(tf: Any, number: Any, count: int) -> Any:
    message = f"the pipeline goes on after the {count} samples that the run measured: repeat and batch after drop_quarantined"
    with tf.control_dependencies([tf.debugging.assert_less(number, tf.constant(count, tf.int64), message)]):
        return tf.identity(number)
