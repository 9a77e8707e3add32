"""The facts of all sources as one view, and how samples of one belong to those of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from datascrub.model import Field, Kind, Role
from datascrub.plan import Plan
from datascrub.rules.columns import struct
from datascrub.rules.expression import literal
from datascrub.run.facts import connect, fact_files
from datascrub.run.folder import RunFolder
from datascrub.several.member import PAIRS, Member

if TYPE_CHECKING:
    import duckdb

_PLACE_BITS = 40
"""a sample's number among several sources: which source, then its number there"""
_ENDINGS = r"[.](jpe?g|png|gif|bmp|webp|tiff?|npy|txt|ppm|pgm)$"
_OF_ENCODED = {"hash": "VARCHAR", "pixel_hash": "VARCHAR", "perceptual_hash": "BIGINT", "thumbnail": "VARCHAR"}
_OF_ARRAY = ("hash",)
_OF_LABEL = {"text": "VARCHAR", "value": "BIGINT", "number": "DOUBLE"}


@dataclass(frozen=True)
class View:
    """The view facts: number, key (with the source's name), plain (without), split, pair, width, height; sample and label where they are compared.

    compared: the words that a question may use, {field} and {label}. by: how pairs belong together, "key" or "position"; "" for splits.
    """

    connection: duckdb.DuckDBPyConnection
    compared: tuple[str, ...]
    by: str


def open_view(path: Path, kind: str, members: Sequence[Member], plans: Sequence[Plan]) -> View:
    """The facts of these runs, each in the folder of its name below path."""
    connection = connect()
    fields = _compared(plans)
    labels = [label for plan in plans if (label := _label(plan)) is not None]
    selects = []
    for place, (member, plan) in enumerate(zip(members, plans, strict=True)):
        files = fact_files(RunFolder(path / member.name))
        its = [
            f"number + {place << _PLACE_BITS} AS number", f"{literal(member.name + ':')} || key AS key", "key AS plain",
            f"{literal(member.name)} AS split", f"regexp_replace(lower(key), '{_ENDINGS}', '') AS base", "number AS place",
            *(f"{sql}::BIGINT AS {name}" for name, sql in _size(plan).items()),
        ]  # fmt: skip
        if fields is not None:
            its.append(f"{_sample(fields[place])} AS sample")
        if len(labels) == len(plans):
            its.append(f"struct_pack({', '.join(f'{name} := {struct(labels[place].name)}.{name}::{of}' for name, of in _OF_LABEL.items())}) AS label")
        if files:
            selects.append(f"SELECT {', '.join(its)} FROM read_parquet([{', '.join(map(literal, files))}])")
    compared = [word for word, is_there in (("{field}", fields is not None), ("{label}", len(labels) == len(plans))) if is_there]
    connection.execute(f"CREATE VIEW every AS {' UNION ALL '.join(selects)}")
    by = _paired_by(connection, members) if kind == PAIRS else ""
    pair = "base" if by == "key" else "place::VARCHAR"
    connection.execute(f"CREATE VIEW facts AS SELECT *, {pair} AS pair FROM every")
    return View(connection, tuple(compared), by)


def _sample(field: Field) -> str:
    """SQL for what is compared of one field; NULL for what its kind does not measure."""
    held = tuple(_OF_ENCODED) if field.kind is Kind.ENCODED else _OF_ARRAY
    members = (f"{name} := {f'{struct(field.name)}.{name}' if name in held else 'NULL'}::{of}" for name, of in _OF_ENCODED.items())
    return f"struct_pack({', '.join(members)})"


def _paired_by(connection: duckdb.DuckDBPyConnection, members: Sequence[Member]) -> str:
    """By key, where half of the first source's keys stand in each other one and no key stands twice; else by position."""
    first = literal(members[0].name)
    for other in members[1:]:
        there = f"EXISTS (FROM every AS b WHERE b.split = {literal(other.name)} AND b.base = a.base)"
        asked = f"SELECT count(*) FILTER ({there}), count(*), count(DISTINCT base) FROM every AS a WHERE split = {first}"
        shared, count, different = connection.execute(asked).fetchall()[0]
        if count != different or 2 * shared < count:
            return "position"
    return "key"


def _compared(plans: Sequence[Plan]) -> list[Field] | None:
    """The field of each source that is compared: the one picture of each, else the one array; of one kind in all."""
    for role in (Role.IMAGE, Role.ARRAY):
        held = [plan.fields_of(role) for plan in plans]
        if all(len(fields) == 1 for fields in held) and len({fields[0].kind for fields in held}) == 1:
            return [fields[0] for fields in held]
    return None


def _label(plan: Plan) -> Field | None:
    fields = plan.fields_of(Role.LABEL)
    return fields[0] if len(fields) == 1 else None


def _size(plan: Plan) -> dict[str, str]:
    """SQL for width and height of the one picture, mask or array of a source; NULL where it has none, or several."""
    for role, prefix in ((Role.IMAGE, ""), (Role.MASK, "mask_")):
        fields = plan.fields_of(role)
        if len(fields) == 1:
            return {name: f"{struct(fields[0].name)}.{prefix}{name}" for name in ("width", "height")}
    fields = tuple(field for field in plan.fields_of(Role.ARRAY) if field.kind is Kind.ARRAY)
    if len(fields) != 1 or plan.fields_of(Role.IMAGE, Role.MASK):
        return {"width": "NULL", "height": "NULL"}
    axes = f"string_split({struct(fields[0].name)}.shape, 'x')"
    first = f"CASE len({axes}) WHEN 2 THEN 1 WHEN 3 THEN CASE WHEN TRY_CAST({axes}[1] AS BIGINT) <= 4 THEN 2 ELSE 1 END END"
    return {name: f"TRY_CAST({axes}[{first} + {step}] AS BIGINT)" for name, step in (("width", 1), ("height", 0))}
