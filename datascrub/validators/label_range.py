"""Labels that are missing, no numbers, no integers, or outside the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from datascrub.model import FOLDERS, Column, Kind, Role
from datascrub.rules import Measurement, Rule
from datascrub.validators.base import Validator
from datascrub.validators.label_rules import ROW_RULES, SET_RULES


@dataclass(frozen=True)
class LabelRange(Validator):
    """A label that no class can have, and sets whose labels do not fit their classes.

    What it finds
        Of one sample: label-missing (error), label-not-finite (error), label-not-integral (error; classification), label-out-of-range (error; below
        0, or not below the declared number of classes), label-unknown-class (error; a text that is not among the declared names), label-negative
        (warning), label-outside-classes (warning; a picture beside the class folders).
        Of a sample against the others, where no classes are declared: label-outside-evident-range (warning), as one 999 among 0 to 9.
        Of the set: label-one-based (labels run from 1 to the number of classes; error where classes are declared, else a warning), label-class-absent
        (warning), label-zero-unwritten (warning: no sample has label 0, and about as many as a class holds have none), label-class-rare (info).
        What is true of most samples is said once and quarantines nothing. Ignored labels are healthy.
        Vectors (one-hot, multilabel, regression) are only asked whether they are finite.

    Why it breaks training
        A cross entropy reads the score at the label's place. Outside the classes that is an exception on a CPU, a device assert that ends the process
        on a GPU, or, in frameworks that do not look, memory that is no score: the loss is NaN once in a while and nobody knows why.

    Example
        train.lmdb 00000005  label-out-of-range  label 7 with 2 classes (0 to 1)

    What to do
        Correct the label. If it marks what should be skipped, declare it: ignore_labels = [-1]. If the labels are one-based, subtract one or declare
        one class more (0 as background); no sample is blamed for it.

    Parameters and facts
        classes, ignore_labels: as in [data], which they override. Facts: kind (missing, outside, integer, float, vector, text, other), value (an
        integral label), number (a finite one), text, is_finite, is_integral (of single numbers), size.
    """

    classes: int | None = None
    ignore_labels: tuple[int, ...] | None = None

    roles: ClassVar[frozenset[Role]] = frozenset({Role.LABEL})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.ARRAY, Kind.TEXT})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "kind": Measurement("VARCHAR", "what the label is: missing, outside (of the class folders), integer, float, vector, text, other (no number)"),
        "value": Measurement("BIGINT", "the label, where it is one integral number"),
        "number": Measurement("DOUBLE", "the label, where it is one finite number"),
        "text": Measurement("VARCHAR", "the label, where it is a text"),
        "is_finite": Measurement("BOOLEAN", "whether all numbers of the label are finite"),
        "is_integral": Measurement("BOOLEAN", "whether the one number of the label is integral"),
        "size": Measurement("BIGINT", "numbers in the label; 1 for a text", "values", ">= 0"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        made["kind"][:] = "outside" if FOLDERS in column.field.declared else "missing"
        if column.field.kind is Kind.TEXT:
            _texts(made, column.values)
            return made
        for rows, block in column.blocks():
            if block.dtype.kind in "biuf" or block.dtype.name == "bfloat16":
                _numbers(made, rows, block.reshape(len(block), -1))
            else:
                made["kind"][rows] = "other"
        return made

    def rules(self) -> Sequence[Rule]:
        return (*ROW_RULES, *SET_RULES)


def _texts(made: dict[str, np.ndarray], values: Any) -> None:
    for row, value in enumerate(values):
        if value is not None:
            made["kind"][row], made["size"][row] = "text", 1
            made["text"][row] = value if isinstance(value, str) else bytes(value).decode("utf-8", "backslashreplace")


def _numbers(made: dict[str, np.ndarray], rows: np.ndarray, flat: np.ndarray) -> None:
    made["size"][rows] = flat.shape[1]
    if flat.dtype.kind not in "biu":
        flat = flat.astype(np.float64)
    is_finite = np.isfinite(flat).all(axis=1)
    made["is_finite"][rows] = is_finite
    if flat.shape[1] != 1:
        made["kind"][rows] = "vector"
        return
    single = flat[:, 0]
    made["kind"][rows] = "float" if flat.dtype.kind == "f" else "integer"
    whole = is_finite & (single == np.trunc(single)) if flat.dtype.kind == "f" else is_finite
    made["is_integral"][rows[is_finite]] = whole[is_finite]
    made["number"][rows[is_finite]] = single[is_finite].astype(np.float64)
    held = whole & _fits_int64(single)
    made["value"][rows[held]] = single[held].astype(np.int64)


def _fits_int64(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return (values >= -(2.0**63)) & (values < 2.0**63)
    return values <= np.uint64(2**63 - 1) if values.dtype == np.uint64 else np.ones(len(values), bool)
