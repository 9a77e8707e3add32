"""Which datasets are the fields of a sample: those that share the first axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from datascrub.readers.hdf5_format.contents import DATA_NAMES, LABEL_NAMES
from datascrub.readers.hdf5_format.dataset import Form, Stored

_PAIRED = (frozenset({"data", "x", "features", "inputs"}), frozenset({"label", "labels", "y", "target", "targets"}))
_SAMPLED = frozenset({Form.NUMBERS, Form.BFLOAT16, Form.TEXT, Form.RAGGED, Form.PICTURES})


def base_name(name: str) -> str:
    return name.rpartition("/")[2].lower()


def field_name(dataset: str) -> str:
    """The name of a dataset as a field; "record" is taken by the record itself."""
    return "/record" if dataset == "record" else dataset


def dataset_name(field: str) -> str:
    return "record" if field == "/record" else field


def is_sampled(stored: Stored) -> bool:
    """Whether rows of the dataset can be values of a field."""
    return stored.form in _SAMPLED and not stored.is_scalar and not (stored.form is Form.TEXT and stored.shape)


def axis_of(datasets: Iterable[Stored]) -> int | None:
    """The length of the axis that samples are counted along; None where no dataset has rows.

    Datasets named as data come first, then those named as labels, then the length that most datasets share; of equally many the longer.
    """
    found = [stored for stored in datasets if is_sampled(stored)]
    for names in (DATA_NAMES, LABEL_NAMES):
        if named := [stored for stored in found if base_name(stored.name) in names]:
            found = named
            break
    counts = Counter(stored.length for stored in found)
    return max(counts, key=lambda length: (length > 0, counts[length], length)) if counts else None


def is_carried(stored: Stored) -> bool:
    """Whether the dataset has a row for each sample that no check reads: tables and texts of several columns."""
    is_table = stored.form is Form.COMPOUND and stored.element.names is not None and not stored.element.hasobject
    return not stored.is_scalar and (is_table or (stored.form is Form.TEXT and bool(stored.shape)))


def on_axis(datasets: Mapping[str, Stored]) -> list[Stored]:
    """The datasets whose rows are values of the samples: those of the common length, and data and labels of one group that should have it."""
    length = axis_of(datasets.values())
    if length is None:
        return []
    unpaired = {name for pair in unequal_pairs(datasets) for name in pair}
    return [
        stored
        for stored in datasets.values()
        if (is_sampled(stored) and (stored.length == length or stored.name in unpaired)) or (is_carried(stored) and stored.length == length)
    ]


def unequal_pairs(datasets: Mapping[str, Stored]) -> list[tuple[str, str]]:
    """(data, label) of one group whose first axes differ, where no other labels of that group fit."""
    found = []
    for stored in datasets.values():
        if base_name(stored.name) not in _PAIRED[0] or not is_sampled(stored):
            continue
        folder = stored.name.rpartition("/")[0]
        beside = [its for its in datasets.values() if its.name.rpartition("/")[0] == folder and is_sampled(its) and base_name(its.name) in _PAIRED[1]]
        if beside and all(its.length != stored.length for its in beside):
            found.append((stored.name, beside[0].name))
    return found
