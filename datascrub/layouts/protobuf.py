"""Protobuf messages of record layouts, described at run time in a private descriptor pool.

The default pool is shared with whatever else the process imports: a second description of tensorflow.Example there ends the import of TensorFlow or
of the tfrecord package with "duplicate symbol". In a pool of our own nobody else's description is met, and no generated code is needed.

Caffe's messages stand as in BVLC/caffe src/caffe/proto/caffe.proto and, for AnnotatedDatum, the SSD branch; tensorflow's as in
tensorflow/core/example/{example,feature}.proto.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

_OPTIONAL, _REPEATED, _MAP, _ONEOF = "optional", "repeated", "map", "oneof"

_Member = tuple[int, str, str, str]
"""number, name, label, type: a scalar's name, or the full name of a message"""

_CAFFE: Mapping[str, tuple[_Member, ...]] = {
    "Datum": (
        (1, "channels", _OPTIONAL, "int32"),
        (2, "height", _OPTIONAL, "int32"),
        (3, "width", _OPTIONAL, "int32"),
        (4, "data", _OPTIONAL, "bytes"),
        (5, "label", _OPTIONAL, "int32"),
        (6, "float_data", _REPEATED, "float"),
        (7, "encoded", _OPTIONAL, "bool"),
    ),
    "NormalizedBBox": (
        (1, "xmin", _OPTIONAL, "float"),
        (2, "ymin", _OPTIONAL, "float"),
        (3, "xmax", _OPTIONAL, "float"),
        (4, "ymax", _OPTIONAL, "float"),
        (5, "label", _OPTIONAL, "int32"),
        (6, "difficult", _OPTIONAL, "bool"),
        (7, "score", _OPTIONAL, "float"),
        (8, "size", _OPTIONAL, "float"),
    ),
    "Annotation": ((1, "instance_id", _OPTIONAL, "int32"), (2, "bbox", _OPTIONAL, "caffe.NormalizedBBox")),
    "AnnotationGroup": ((1, "group_label", _OPTIONAL, "int32"), (2, "annotation", _REPEATED, "caffe.Annotation")),
    # type is an enumeration of one name, BBOX = 0; as a number it has the same bytes and takes whatever a newer writer knows.
    "AnnotatedDatum": (
        (1, "datum", _OPTIONAL, "caffe.Datum"),
        (2, "type", _OPTIONAL, "int32"),
        (3, "annotation_group", _REPEATED, "caffe.AnnotationGroup"),
    ),
}

_TENSORFLOW: Mapping[str, tuple[_Member, ...]] = {
    "BytesList": ((1, "value", _REPEATED, "bytes"),),
    "FloatList": ((1, "value", _REPEATED, "float"),),
    "Int64List": ((1, "value", _REPEATED, "int64"),),
    "Feature": (
        (1, "bytes_list", _ONEOF, "tensorflow.BytesList"),
        (2, "float_list", _ONEOF, "tensorflow.FloatList"),
        (3, "int64_list", _ONEOF, "tensorflow.Int64List"),
    ),
    "Features": ((1, "feature", _MAP, "tensorflow.Feature"),),
    "FeatureList": ((1, "feature", _REPEATED, "tensorflow.Feature"),),
    "FeatureLists": ((1, "feature_list", _MAP, "tensorflow.FeatureList"),),
    "Example": ((1, "features", _OPTIONAL, "tensorflow.Features"),),
    "SequenceExample": ((1, "context", _OPTIONAL, "tensorflow.Features"), (2, "feature_lists", _OPTIONAL, "tensorflow.FeatureLists")),
}


@functools.cache
def message(name: str) -> Any:
    """The class of a message by its full name: caffe.Datum, caffe.AnnotatedDatum, tensorflow.Example, tensorflow.SequenceExample and their members.

    Its oneof of tensorflow.Feature is called "kind". Parsing raises google.protobuf.message.DecodeError; no bytes at all parse as an empty message.
    """
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(name))


@functools.cache
def _pool() -> DescriptorPool:
    from google.protobuf import descriptor_pool

    pool = descriptor_pool.DescriptorPool()
    # proto2 gives caffe's fields presence: an absent label is told from 0. tensorflow's are proto3, where repeated numbers are packed.
    pool.Add(_file("caffe", "proto2", _CAFFE))
    pool.Add(_file("tensorflow", "proto3", _TENSORFLOW))
    return pool


def _file(package: str, syntax: str, messages: Mapping[str, tuple[_Member, ...]]) -> Any:
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name=f"datascrub/{package}.proto", package=package, syntax=syntax)
    for name, members in messages.items():
        made = file.message_type.add(name=name)
        for member in members:
            _add(made, f".{package}.{name}", member)
    return file


def _add(made: Any, full_name: str, member: _Member) -> None:
    from google.protobuf import descriptor_pb2

    kinds = descriptor_pb2.FieldDescriptorProto
    number, name, label, type_name = member
    added = made.field.add(name=name, number=number, label=kinds.LABEL_REPEATED if label in (_REPEATED, _MAP) else kinds.LABEL_OPTIONAL)
    if label == _MAP:
        entry = made.nested_type.add(name="".join(word.capitalize() for word in name.split("_")) + "Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_STRING)
        entry.field.add(name="value", number=2, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_MESSAGE, type_name=f".{type_name}")
        added.type, added.type_name = kinds.TYPE_MESSAGE, f"{full_name}.{entry.name}"
    elif "." in type_name:
        added.type, added.type_name = kinds.TYPE_MESSAGE, f".{type_name}"
    else:
        added.type = kinds.Type.Value(f"TYPE_{type_name.upper()}")
    if label == _ONEOF:
        if not made.oneof_decl:
            made.oneof_decl.add(name="kind")
        added.oneof_index = 0
