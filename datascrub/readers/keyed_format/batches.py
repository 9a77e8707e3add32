"""What containers of keys and values share: a stream of stored records becomes batches through the plan's layout.

A reader of such a container walks its keys once with a Census, which says which records begin samples, and yields shards. For a shard it yields its
records as Stored, in order, and `batches` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xxhash

from datascrub.config import DataConfig
from datascrub.errors import SourceError
from datascrub.layouts import Layout, Record
from datascrub.layouts.choose import choose, layout_named
from datascrub.layouts.numbered import Numbered
from datascrub.model import Batch, Part, Problem, Role
from datascrub.plan import Plan
from datascrub.readers.base import Survey
from datascrub.readers.stamps import Stamps

BATCH_BYTES = 32 << 20
PROBED_RECORDS = 400
PROBED_BYTES = 64 << 20

Get = Callable[[bytes], bytes | None]
"""the value of a key of the same database, None where there is none"""


class Stored(NamedTuple):
    """A record that begins a sample, as its container gives it.

    row: its place in the shard. raw: its key's bytes. key: as text, unique in the source. value: None where it was not read; problem then says
    why, or it is None where the sample is only to be named (untouched). size: bytes of the value where known, else 0.
    """

    row: int
    raw: bytes
    key: str
    value: bytes | None
    size: int
    problem: Problem | None = None


def layout_of(plan: Plan) -> Layout:
    return layout_named(plan.layout or "unknown")


def survey_of(
    records: Sequence[Record],
    data: DataConfig,
    *,
    count: int | None,
    size_bytes: int,
    settings: Mapping[str, Any],
    notes: Sequence[str] = (),
    is_count_exact: bool = True,
) -> Survey:
    """The survey of a container whose probed records these are (metadata among them or not). Raises SourceError where there is none."""
    samples = [record for record in records if not is_metadata(record.key)]
    if not samples:
        raise SourceError("the source is empty: it holds no samples", fix="write the data set again; there is nothing to scan")
    layout, fit = choose(samples, data)
    pairs = 1 + len(layout.companions(samples[0].key))
    if count is not None and pairs > 1:
        count, is_count_exact = count // pairs, False
    return Survey(
        layout.name,
        fit.fields,
        count,
        size_bytes,
        settings,
        is_count_exact,
        data.task or fit.task,
        fit.labels,
        (f"records are {layout.title} ({fit.share:.0%} of {len(samples)} probed)", *fit.notes, *notes),
    )


_METADATA = frozenset(
    b"num-samples num_samples nsamples n_samples length len count size keys meta metadata meta_info classes class_names classnum version".split()
)


def is_metadata(key: bytes) -> bool:
    """Whether a key is no sample by its name: num-samples, __len__, __keys__, …"""
    return key in _METADATA or (len(key) > 4 and key.startswith(b"__") and key.endswith(b"__"))


def begins_sample(layout: Layout, key: bytes) -> bool:
    """Whether the record of this key begins a sample: it is neither metadata nor a companion."""
    return not is_metadata(key) and layout.is_sample(key)


def unknown_layout(layout: Layout) -> Iterator[Part]:
    """The part that says, once, that nobody knows what the records mean."""
    if layout.name == "pickled":
        says = "the values are Python pickles: their layout is unknown, and none is loaded, because loading a pickle runs whatever it says"
        yield Part("part-layout-unknown", "", says, {"layout": "pickle"})
    elif layout.name == "unknown":
        says = "no record layout fits the values: they are counted and copied, and nothing in them is checked"
        yield Part("part-layout-unknown", "", says, {"layout": "unknown"})


def digest(values: Sequence[bytes]) -> bytes:
    """xxh3-128 of a sample's stored records; of several, each with its length before it, so that no byte can move from one to the next."""
    if len(values) == 1:
        return xxhash.xxh3_128_digest(values[0])
    state = xxhash.xxh3_128()
    for value in values:
        state.update(len(value).to_bytes(8, "little"))
        state.update(value)
    return state.digest()


def batches(plan: Plan, layout: Layout, stream: Iterable[Stored | Part], get: Get, *, batch_size: int = 1024) -> Iterator[Batch | Part]:
    """Batches of the stored records of a shard, in order, of at most batch_size samples and about 32 MB; parts pass through at their place."""
    pending: list[Stored] = []
    held = 0
    for item in stream:
        if isinstance(item, Part):
            yield item
            continue
        pending.append(item)
        held += item.size
        if len(pending) >= batch_size or held >= BATCH_BYTES:
            yield _batch(plan, layout, pending, get)
            pending, held = [], 0
    if pending:
        yield _batch(plan, layout, pending, get)


def _batch(plan: Plan, layout: Layout, stored: Sequence[Stored], get: Get) -> Batch:
    samples: list[Sequence[Record]] = [(Record(item.raw, item.value),) for item in stored]
    sizes = np.array([item.size for item in stored], np.int64)
    if type(layout).companions is not Layout.companions:
        for place, item in enumerate(stored):
            companions = _companions(item, layout, get)
            samples[place] = (*samples[place], *companions)
            sizes[place] += sum(len(record.value or b"") for record in companions)
    columns, problems = layout.decode(samples, [each for each in plan.fields if each.role is not Role.RECORD], plan.limits)
    found = {**problems, **{place: item.problem for place, item in enumerate(stored) if item.problem is not None}}
    stamps = [_stamp(records) for records in samples]
    return Batch([item.key for item in stored], np.array([item.row for item in stored], np.int64), columns, sizes, found, stamps=stamps)


def _stamp(records: Sequence[Record]) -> str | None:
    values = [record.value for record in records if record.value is not None]
    return digest(values).hex() if len(values) == len(records) else None


def stamps(layout: Layout, stream: Iterable[Stored | Part], get: Get) -> Stamps:
    """The digest of each sample of a shard: what a database holds tells by nothing else whether it changed."""
    keys: list[str | None] = []
    made: list[str | None] = []
    for item in stream:
        if not isinstance(item, Part):
            keys.append(item.key)
            made.append(_stamp((Record(item.raw, item.value), *_companions(item, layout, get))))
    return Stamps(keys, made)


def _companions(item: Stored, layout: Layout, get: Get) -> list[Record]:
    """The further records of a sample; where its first one is not to be touched, neither are they."""
    is_left_alone = item.value is None and (item.problem is None or item.problem.code != "record-companion-missing")
    return [Record(key, None if is_left_alone else get(key)) for key in layout.companions(item.raw)]


def too_large(size: int, limit: int) -> Problem:
    return Problem("record-too-large", f"{size:,} bytes, more than limits.max_record_bytes = {limit:,}; they are not read")


def orphan(layout: Numbered, raw: bytes) -> Problem:
    """The problem of a sample whose first record is missing while a companion is there."""
    there = " and ".join(key.decode("ascii", "replace") for key in layout.companions(raw))
    return Problem("record-companion-missing", f"{raw.decode('ascii', 'replace')} is missing, and {there} is there")
