"""What foreign data may look like: every validator of numbers measures it, or leaves it NULL; none raises, none accuses the healthy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from datascrub.model import Column, Field, Kind, Role
from datascrub.validators import ArrayShape, Constant, DummyNetwork, ExactDuplicates, Finite, LabelRange
from datascrub.validators.base import Validator

RANDOM = np.random.default_rng(11)
BLOCK = RANDOM.normal(size=(6, 4, 8)).astype(np.float32)
FROZEN = BLOCK.copy()
FROZEN.flags.writeable = False
ODD: dict[str, Any] = {
    "no samples": BLOCK[:0],
    "empty samples": np.zeros((3, 0), np.float32),
    "scalars": np.arange(5.0),
    "transposed": BLOCK.transpose(0, 2, 1),
    "reversed": BLOCK[::-1, ::-1, ::-2],
    "broadcast": np.broadcast_to(BLOCK[:1], (4, 4, 8)),
    "read-only": FROZEN,
    "big-endian": BLOCK.astype(">f8"),
    "long double": BLOCK.astype(np.longdouble),
    "records": np.zeros(3, [("a", "f4"), ("b", "S3")]),
    "texts": np.array(["a", "bc"]),
    "bytes": np.array([b"a", b"bc"]),
    "objects": np.array([{}, None, 3], object),
    "times": np.array(["2020-01-01", "NaT"], "datetime64[s]"),
    "opaque": np.zeros((2, 20), "V2"),
    "nothing": [None, None],
    "mixed": [BLOCK[0], None, np.array(3), np.zeros((0, 2)), np.array(b"x"), BLOCK[1].astype(np.float16)],
    "unsigned extremes": np.array([[2**64 - 1, 0], [1, 2]], np.uint64),
    "nine axes": np.ones((2,) + (1, 2) * 4, np.int8),
}


@pytest.mark.parametrize("validator", [ArrayShape(), Constant(), DummyNetwork(), ExactDuplicates(), Finite(), LabelRange()], ids=lambda v: v.name())
@pytest.mark.parametrize("values", ODD.values(), ids=ODD.keys())
def test_measured_or_null(values: Any, validator: Validator) -> None:
    """One value a sample for each measurement, in its type; floats are finite wherever they are not NULL."""
    role = next(role for role in (Role.ARRAY, Role.LABEL) if role in validator.roles)
    made = validator.measure(Column(Field("odd", role, Kind.ARRAY), values))
    assert set(made) == set(validator.measures)
    for name, facts in made.items():
        assert facts.shape == (len(values),)
        if validator.measures[name].type == "DOUBLE":
            assert np.isfinite(np.ma.filled(facts, 0)).all()


@pytest.mark.parametrize("name", ["transposed", "reversed", "broadcast", "read-only", "big-endian"])
def test_layout_in_memory_does_not_matter(name: str) -> None:
    """Strides, byte order and write protection change no finding and no loss."""
    values = ODD[name]
    plain = np.ascontiguousarray(values, np.float32)
    for validator in (Finite(), DummyNetwork()):
        odd, usual = (validator.measure(Column(Field("odd", Role.ARRAY, Kind.ARRAY), each)) for each in (values, plain))
        for fact in odd:
            if validator.measures[fact].type == "DOUBLE":
                np.testing.assert_allclose(odd[fact], usual[fact], rtol=1e-5, atol=1e-7)
            else:
                assert odd[fact].tolist() == usual[fact].tolist()
