"""Bytes of a tf.Example that are numbers: raw pixels, whose shape stands in features beside them or in the configuration, and serialised tensors."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from datascrub.config import FieldConfig
from datascrub.layouts.example_columns import missing, wrong_kind
from datascrub.layouts.example_message import BYTES, raw_name
from datascrub.layouts.example_roles import REQUIRED, Seen, is_unknown, nearly_all, role_of_array, siblings_of
from datascrub.model import Field, Kind, Limits, Problem, Role

RAW, TENSOR = "raw", "tensor"
"""in Field.declared: the bytes are numbers one after the other, or a TensorProto"""
_SIDES = (("height",), ("width",), ("depth", "channels"))
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 19: "float16",
    22: "uint32", 23: "uint64",
}  # fmt: skip
"""tensorflow/core/framework/types.proto: those whose values stand in tensor_content"""


@dataclass
class SeenBytes:
    """What the probed records hold of one feature of bytes.

    tensors: how often each (dtype, shape) of a TensorProto. sized: how often the sides beside it say as many values as there are bytes, by bytes a
    value; shapes: those that they say.
    """

    count: int = 0
    tensors: Counter[tuple[str, tuple[int, ...]]] = field(default_factory=Counter)
    sized: Counter[int] = field(default_factory=Counter)
    shapes: Counter[tuple[int, ...]] = field(default_factory=Counter)

    def add(self, value: bytes, sides: tuple[int, ...] | None) -> None:
        self.count += 1
        tensor = tensor_of(value)
        if not isinstance(tensor, str):
            self.tensors[tensor.dtype.name, tensor.shape] += 1
        values = math.prod(sides) if sides else 0
        if sides and values and len(value) % values == 0 and len(value) // values in (1, 2, 4, 8):
            self.sized[len(value) // values] += 1
            self.shapes[sides] += 1


def sides_of(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """The features that say height, width and, where there is one, depth of a feature of raw bytes; empty where height or width is missing."""
    found = siblings_of(name, names, is_only=True, wanted=tuple(each for side in _SIDES for each in side))
    height, width, depth = (next((found[each] for each in side if each in found), "") for side in _SIDES)
    return tuple(filter(None, (height, width, depth))) if height and width else ()


def numbers_in(features: Mapping[bytes, Any], names: Sequence[str]) -> tuple[int, ...] | None:
    """One positive whole number of each of these features of a record; None where one is missing."""
    made: list[int] = []
    for name in names:
        feature = features.get(raw_name(name))
        values: Sequence[int] = [] if feature is None else feature.int64_list.value
        if len(values) != 1 or not 0 < values[0] < 1 << 31:
            return None
        made.append(int(values[0]))
    return tuple(made) or None


def raw_fields(fields: Sequence[Field], seen: Mapping[str, Seen], records: Sequence[Mapping[bytes, Any]]) -> tuple[Field, ...]:
    """The fields, those of unknown bytes as arrays where nearly all probed records agree on what the numbers are."""
    names = [each.name for each in fields]
    made = [_judged(each, names, records) if each.name in seen and is_unknown(seen[each.name]) else each for each in fields]
    sides = {side for each in made if RAW in each.declared for side in sides_of(each.name, names)}
    return tuple(replace(each, role=Role.IGNORE) if each.name in sides else each for each in made)


def _judged(its: Field, names: Sequence[str], records: Sequence[Mapping[bytes, Any]]) -> Field:
    beside, seen = sides_of(its.name, names), SeenBytes()
    for features in records:
        feature = features.get(raw_name(its.name))
        if feature is not None and len(feature.bytes_list.value) == 1 and feature.bytes_list.value[0]:
            seen.add(feature.bytes_list.value[0], numbers_in(features, beside) if beside else None)
    for declared, found in ((TENSOR, seen.tensors.total()), (RAW, seen.sized.total())):
        if not found or not nearly_all(found, seen.count):
            continue
        if declared == TENSOR:
            dtype = Counter(name for name, _ in seen.tensors.elements()).most_common(1)[0][0]
            shape = _agreed(Counter(shape for _, shape in seen.tensors.elements()))
        else:
            dtype, shape = {1: "uint8", 2: "uint16", 4: "float32", 8: "float64"}[seen.sized.most_common(1)[0][0]], _agreed(seen.shapes)
        return _array(its, declared, dtype, shape, len(next(iter(seen.shapes), ())) or (len(shape) if shape else 0))
    return its


def _agreed(shapes: Counter[tuple[int, ...]]) -> tuple[int, ...] | None:
    shape, count = shapes.most_common(1)[0]
    return shape if nearly_all(count, shapes.total()) else None


def _array(its: Field, declared: str, dtype: str, shape: tuple[int, ...] | None, rank: int) -> Field:
    held = "float32" if dtype == "bfloat16" else dtype
    keeps = tuple(each for each in its.declared if each == REQUIRED)
    return replace(its, role=role_of_array(its.name, held, shape, rank), kind=Kind.ARRAY, dtype=held, shape=shape, declared=(declared, *keeps))


def declared_fields(fields: Sequence[Field], declared: Mapping[str, FieldConfig]) -> tuple[Field, ...]:
    """The fields, with those of bytes as arrays whose shape or number type the owner declares."""
    made = []
    for its in fields:
        told = declared.get(its.name)
        if told is not None and (told.shape or told.dtype) and (its.kind is Kind.TEXT or is_raw(its)):
            dtype = told.dtype or (its.dtype if is_raw(its) else None) or "uint8"
            its = _array(its, RAW, dtype, told.shape or its.shape, len(told.shape or its.shape or ()))
        made.append(its)
    return tuple(made)


def is_raw(its: Field) -> bool:
    """Whether the field's numbers stand as bytes."""
    return RAW in its.declared or TENSOR in its.declared


def raw_values(
    its: Field,
    names: Sequence[str],
    records: Sequence[Mapping[bytes, Any]],
    parsed: Sequence[bool],
    problems: MutableMapping[int, Problem],
    limits: Limits,
) -> np.ndarray | list[Any]:
    """The column of a field of raw numbers; a record whose bytes are not as many as its shape needs has a problem and no value."""
    beside, raw = sides_of(its.name, names) if RAW in its.declared else (), raw_name(its.name)
    read: Callable[[bytes, Mapping[bytes, Any]], np.ndarray | Problem] = (
        (lambda value, features: _tensor(its, value))
        if TENSOR in its.declared
        else (lambda value, features: _raw(its, value, numbers_in(features, beside) if beside else None))
    )
    made: list[Any] = [None] * len(records)
    for row, features in enumerate(records):
        if not parsed[row]:
            continue
        held = _bytes(its, features.get(raw))
        found = read(held, features) if isinstance(held, bytes) else held
        if isinstance(found, Problem):
            problems.setdefault(row, found)
        else:
            made[row] = found
    if made and all(value is not None for value in made) and len({(value.shape, value.dtype) for value in made}) == 1:
        return np.stack(made)
    return made


def _bytes(its: Field, feature: Any) -> bytes | Problem | None:
    held = None if feature is None else feature.WhichOneof("kind")
    if held is None:
        return missing(its) if REQUIRED in its.declared else None
    if held != BYTES:
        return wrong_kind(its, held, BYTES)
    if not len(feature.bytes_list.value):
        return missing(its) if REQUIRED in its.declared else None
    value: bytes = feature.bytes_list.value[0]
    return value


def _raw(its: Field, value: bytes, sides: tuple[int, ...] | None) -> np.ndarray | Problem:
    """The numbers of raw bytes. What the record itself says of its shape goes before what the set has."""
    dtype = np.dtype(its.dtype).newbyteorder("<")
    shape = sides or its.shape or ((len(value) // dtype.itemsize,) if len(value) % dtype.itemsize == 0 else None)
    needed = math.prod(shape) * dtype.itemsize if shape else dtype.itemsize
    if shape is None or len(value) != needed:
        told = " x ".join(map(str, shape or ("n",)))
        return Problem("record-size-mismatch", f"{its.name} holds {len(value):,} bytes, and {told} of {its.dtype} are {needed:,}")
    return np.frombuffer(value, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _tensor(its: Field, value: bytes) -> np.ndarray | Problem:
    found = tensor_of(value)
    if isinstance(found, str):
        return Problem("record-unparsable", f"{its.name} holds {len(value):,} bytes that are no serialised tensor: {found}")
    return found.values()


@dataclass(frozen=True)
class Tensor:
    """A parsed TensorProto whose content is as long as its shape says."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    content: bytes
    is_bfloat16: bool = False

    def values(self) -> np.ndarray:
        if self.is_bfloat16:
            return (np.frombuffer(self.content, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(self.shape)
        return np.frombuffer(self.content, self.dtype.newbyteorder("<")).reshape(self.shape)


def tensor_of(value: bytes) -> Tensor | str:
    """The tensor that tf.io.serialize_tensor wrote, or why the bytes are none. Nothing is allocated that they don't hold."""
    from google.protobuf.message import DecodeError

    try:
        proto = _tensor_message().FromString(value)
    except DecodeError:
        return "they do not parse"
    name = _DTYPES.get(proto.dtype)
    if name is None:
        return f"number type {proto.dtype} is not known" if proto.dtype else "they name no number type"
    shape = tuple(int(each.size) for each in proto.shape.dim)
    if proto.shape.unknown_rank or any(side < 0 for side in shape):
        return "they name no shape"
    dtype = np.dtype("uint16" if name == "bfloat16" else name)
    needed = math.prod(shape) * dtype.itemsize
    if len(proto.tensor_content) != needed:
        told = " x ".join(map(str, shape)) or "1"
        return f"{len(proto.tensor_content):,} bytes, and {told} of {name} are {needed:,}"
    is_bfloat16 = name == "bfloat16"
    return Tensor(np.dtype(np.float32) if is_bfloat16 else dtype, shape, proto.tensor_content, is_bfloat16)


@functools.cache
def _tensor_message() -> Any:
    """The class of TensorProto, as far as it is read here. Source: tensorflow/core/framework/{tensor,tensor_shape}.proto."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="datascrub/tensor_wire.proto", package="tensor", syntax="proto3")
    for name, members in (
        ("Dim", (("size", 1, "TYPE_INT64", False), ("name", 2, "TYPE_BYTES", False))),
        ("Shape", (("dim", 2, "Dim", True), ("unknown_rank", 3, "TYPE_BOOL", False))),
        ("Tensor", (("dtype", 1, "TYPE_INT32", False), ("shape", 2, "Shape", False), ("tensor_content", 4, "TYPE_BYTES", False))),
    ):
        made = file.message_type.add(name=name)
        for member, number, kind, is_repeated in members:
            added = made.field.add(name=member, number=number, label=kinds.LABEL_REPEATED if is_repeated else kinds.LABEL_OPTIONAL)
            if kind.startswith("TYPE_"):
                added.type = kinds.Type.Value(kind)
            else:
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".tensor.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensor.Tensor"))
