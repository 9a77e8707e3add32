"""A sieve over any stream: it keeps the good, names the bad, and dies of nothing that a stream may hold."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
from PIL import Image

from datascrub import Sieve
from datascrub.errors import UsageError
from datascrub.validators import ExactDuplicates, Finite, ImageIntegrity, LabelRange

ROLES = {"jpg": "image", "cls": "label", "x": "array"}


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").save(file, "JPEG")
    return file.getvalue()


def sample(**changed: Any) -> dict[str, Any]:
    return {"__key__": "a/1", "jpg": jpeg(), "cls": 3, "x": np.zeros(4, np.float32) + 0.5, **changed}


@pytest.fixture
def sieve() -> Sieve:
    return Sieve([ImageIntegrity(), Finite(), LabelRange(classes=10)], roles=ROLES, key="__key__")


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({}, []),
        ({"jpg": jpeg()[:300]}, ["image-truncated"]),
        ({"jpg": b"<html>"}, ["image-not-an-image"]),
        ({"jpg": None}, ["record-field-missing"]),
        ({"x": None}, ["record-field-missing"]),
        ({"cls": None}, ["label-missing"]),
        ({"cls": 12}, ["label-out-of-range"]),
        ({"x": np.array([1, np.nan], np.float32)}, ["values-not-finite"]),
    ],
)
def test_what_is_wrong_is_named(sieve: Sieve, changed: dict[str, Any], codes: list[str]) -> None:
    """Each fault has its code, under the key of its sample; a value that is not there is one too."""
    found = sieve.check(sample(**changed))
    assert [finding.code for finding in found] == codes
    assert all(finding.key == "a/1" for finding in found)


def test_a_field_that_is_absent_is_missing(sieve: Sieve) -> None:
    """A sample without the name of a field is named, and the stream goes on."""
    without = {name: value for name, value in sample().items() if name != "jpg"}
    bad: list[Any] = []
    assert len(list(sieve([sample(), without, sample()], on_bad=bad.append))) == 2
    assert [finding.code for finding in bad[0].findings] == ["record-field-missing"]


def test_a_sieve_travels(sieve: Sieve) -> None:
    """It can be pickled into the workers of another engine, also after use."""
    sieve.check(sample())
    again = pickle.loads(pickle.dumps(sieve))
    assert [finding.code for finding in again.check(sample(cls=-1))] == [finding.code for finding in sieve.check(sample(cls=-1))]


def test_what_needs_the_set_is_not_checked() -> None:
    """Duplicates can't be asked of a stream, and the sieve says so."""
    assert "exact-duplicate" in Sieve([ExactDuplicates()], roles=ROLES).not_checked


def test_an_unknown_role_is_an_error() -> None:
    """A role that does not exist is refused with those that do."""
    with pytest.raises(UsageError, match="picture"):
        Sieve([Finite()], roles={"jpg": "picture"})


def test_single_values() -> None:
    """One value is checked as bytes, as an array, as a Pillow image, as a list of numbers."""
    assert ImageIntegrity().check(jpeg()) == []
    assert ImageIntegrity().check(Image.open(io.BytesIO(jpeg()))) == []
    assert Finite().check(Image.open(io.BytesIO(jpeg()))) == []
    assert [finding.code for finding in Finite().check([1.0, float("inf")])] == ["values-not-finite"]
