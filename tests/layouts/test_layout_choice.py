"""Which layout is taken, and what the small ones make of their records."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from datascrub.config import DataConfig
from datascrub.errors import UsageError
from datascrub.layouts import Record
from datascrub.layouts.choose import choose, known
from datascrub.layouts.npy import array_of
from datascrub.layouts.pickled import is_pickle
from datascrub.layouts.protobuf import message
from datascrub.model import Limits, Problem, Role

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def chosen(values: list[bytes], **declared) -> str:
    return choose([Record(b"%d" % place, value) for place, value in enumerate(values)], DataConfig(**declared))[0].name


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([PNG, PNG, b"<html>404</html>"], "encoded-image"),
        ([PNG, PNG, b"<html>404</html>", b"<html>404</html>"], "encoded-image"),
        ([b"0", b"1", b"22"], "numbers"),
        ([b"a word", b"1", b"two words"], "text"),
        ([npy(np.zeros((2, 2)))] * 2, "npy"),
        ([pickle.dumps((1, b"x"), protocol) for protocol in range(6)], "pickled"),
        ([b"\x00\xff\x13" * 9, b"\x91\xfe\x00\x07" * 5], "unknown"),
        ([message("caffe.Datum")(channels=1, height=2, width=2, data=b"abcd").SerializeToString()] * 3, "caffe-datum"),
    ],
)
def test_the_layout_is_that_of_the_majority(values: list[bytes], name: str) -> None:
    """Values of each kind are recognised; a page of HTML among pictures does not make a set of texts of it."""
    assert chosen(values) == name


def test_a_declared_layout_wins_and_a_misspelt_one_is_refused() -> None:
    """data.layout is taken whatever the records look like; an unknown name lists the known ones."""
    assert chosen([PNG], layout="text") == "text"
    with pytest.raises(UsageError, match="no record layout is called jpegs"):
        chosen([PNG], layout="jpegs")


def test_declared_roles_win() -> None:
    """data.roles replaces the guessed role, and refuses a field that is not there."""
    _, fit = choose([Record(b"0", PNG)], DataConfig(roles={"image": Role.MASK}))
    assert fit.fields[0].role is Role.MASK
    with pytest.raises(UsageError, match="names picture"):
        choose([Record(b"0", PNG)], DataConfig(roles={"picture": Role.MASK}))


@given(some.lists(some.binary(max_size=60), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_no_bytes_make_a_layout_raise(values: list[bytes]) -> None:
    """Any bytes may come: each layout fits or not, and decodes to as many values as records."""
    records = [Record(b"%d" % place, value) for place, value in enumerate(values)]
    for layout in known():
        fit = layout.fit(records)
        samples = [(record, *(Record(key, None) for key in layout.companions(record.key))) for record in records]
        columns, _ = layout.decode(samples, fit.fields if fit else (), Limits())
        assert all(len(column) == len(values) for column in columns.values())


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_a_pickle_is_named_and_never_loaded() -> None:
    """Telling a pickle of any protocol runs nothing in it; text that ends with a full stop is none."""
    assert all(is_pickle(pickle.dumps([Bomb()], protocol)) for protocol in range(6))
    assert not any(map(is_pickle, (b"I am a text.", b"4.", b"", b"(see above).")))


def test_an_npy_with_objects_is_not_loaded() -> None:
    """An object array is record-pickled; whoever loaded it would run its pickle."""
    found = array_of(npy(np.array([Bomb()], object), allow_pickle=True))
    assert isinstance(found, Problem) and found.code == "record-pickled"


def test_an_npy_that_claims_more_than_it_holds_is_truncated_and_allocates_nothing() -> None:
    """A header that declares exabytes costs no memory."""
    whole = npy(np.arange(12.0).reshape(3, 4))
    assert np.array_equal(array_of(whole), np.arange(12.0).reshape(3, 4))
    assert np.array_equal(array_of(npy(np.asfortranarray(np.arange(12.0).reshape(3, 4)))), np.arange(12.0).reshape(3, 4))
    for cut in (whole[:-1], whole.replace(b"(3, 4), }" + b" " * 20, b"(9999999999, 9999999999), }  ")):
        found = array_of(cut)
        assert isinstance(found, Problem) and found.code == "record-truncated"


def test_tensorflow_messages_have_the_bytes_of_tensorflow() -> None:
    """The private description of tf.Example writes what TensorFlow writes: packed numbers, a map of features."""
    example = message("tensorflow.Example")()
    example.features.feature["x"].int64_list.value.append(3)
    assert example.SerializeToString() == b"\n\x0c\n\n\n\x01x\x12\x05\x1a\x03\n\x01\x03"
    assert example.features.feature["x"].WhichOneof("kind") == "int64_list"
