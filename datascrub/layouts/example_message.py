"""tf.Example and SequenceExample as they stand on the wire: named features in order, names as bytes.

A protobuf map<string, Feature> has the wire form of a repeated entry of key and value. Read as such, names that are no UTF-8 do not end the parse
(tf.io.parse_example takes them too). Where a name stands twice the last one counts, as in TensorFlow.
Source: tensorflow/core/example/{example,feature}.proto.
"""

from __future__ import annotations

import functools
from typing import Any

from datascrub.keys import raw_of, text_of

BYTES, FLOAT, INT64 = "bytes_list", "float_list", "int64_list"
_SPECIAL = "features/"

_MESSAGES: tuple[tuple[str, tuple[tuple[str, int, str], ...]], ...] = (
    ("BytesList", (("value", 1, "*bytes"),)),
    ("FloatList", (("value", 1, "*float"),)),
    ("Int64List", (("value", 1, "*int64"),)),
    ("Feature", ((BYTES, 1, "?BytesList"), (FLOAT, 2, "?FloatList"), (INT64, 3, "?Int64List"))),
    ("Entry", (("key", 1, "bytes"), ("value", 2, "Feature"))),
    ("Features", (("feature", 1, "*Entry"),)),
    ("FeatureList", (("feature", 1, "*Feature"),)),
    ("ListEntry", (("key", 1, "bytes"), ("value", 2, "FeatureList"))),
    ("FeatureLists", (("feature_list", 1, "*ListEntry"),)),
    ("Example", (("features", 1, "Features"),)),
    ("SequenceExample", (("context", 1, "Features"), ("feature_lists", 2, "FeatureLists"))),
)


@functools.cache
def message(name: str) -> Any:
    """The class of Example or SequenceExample. Its FromString raises google.protobuf.message.DecodeError."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="datascrub/example_wire.proto", package="wire", syntax="proto3")
    for message_name, members in _MESSAGES:
        made = file.message_type.add(name=message_name)
        for member, number, kind in members:
            scalar = kind.lstrip("*?")
            added = made.field.add(name=member, number=number, label=kinds.LABEL_REPEATED if kind[0] == "*" else kinds.LABEL_OPTIONAL)
            if scalar[0].isupper():
                added.type, added.type_name = kinds.TYPE_MESSAGE, f".wire.{scalar}"
            else:
                added.type = kinds.Type.Value(f"TYPE_{scalar.upper()}")
            if kind[0] == "?":
                if not made.oneof_decl:
                    made.oneof_decl.add(name="kind")
                added.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"wire.{name}"))


def name_of(raw: bytes) -> str:
    """The field of a feature: its name, unless that could be mistaken for the record's own field."""
    name = text_of(raw)
    return _SPECIAL + name if name == "record" or name.startswith(_SPECIAL) else name


def raw_name(name: str) -> bytes:
    """The feature of a field."""
    return raw_of(name.removeprefix(_SPECIAL))
