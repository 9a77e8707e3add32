"""The kept samples as a list in a file, for trainings that read one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.errors import UsageError
from datascrub.handover.kept import Kept, RunLike, kept_of
from datascrub.model import Role
from datascrub.rules.columns import struct
from datascrub.run.facts import open_facts
from datascrub.run.folder import RunFolder

FORMATS = ("keys", "positions", "index", "caffe")


def write_list(run: RunLike, destination: Path, format: str = "keys") -> int:  # noqa: A002  # the word of the command line
    """Write the kept samples; gives their number.

    format: keys (one key a line: LMDB, LevelDB, image folders); positions (.npy of int64, counted over the source in its order: HDF5, any);
    index (JSON: for each file of the source the kept sample numbers in it: TFRecord, several HDF5 files); caffe ("path label" a line, for the
    source of an ImageData layer).
    Raises UsageError where the run is not complete, or its keys can't stand in such a list.
    """
    if format not in FORMATS:
        raise UsageError(f"no list is called {format}", fix=f"one of {', '.join(FORMATS)}")
    kept = kept_of(run)
    folder = RunFolder(Path(run.path if hasattr(run, "path") else run))
    aside = destination.with_name(destination.name + ".part")
    if format == "positions":
        with aside.open("wb") as file:
            np.save(file, kept.positions)
    elif format == "index":
        aside.write_text(json.dumps(_index(folder, kept), indent=1) + "\n", "utf-8")
    else:
        aside.write_text("".join(f"{line}\n" for line in _lines(folder, kept, format)), "utf-8")
    aside.replace(destination)
    return int(kept.mask.sum())


def _rows(folder: RunFolder, kept: Kept, shown: str) -> list[tuple[Any, ...]]:
    with open_facts(folder) as connection:
        rows = connection.execute(f"SELECT number, key, {shown} FROM facts ORDER BY number").fetchall()
    return [row[1:] for row in rows if kept.mask[row[0]]]


def _lines(folder: RunFolder, kept: Kept, format_: str) -> list[str]:
    rows = _rows(folder, kept, _label(folder) if format_ == "caffe" else "NULL, NULL")
    for key, *_ in rows:
        if "\n" in key or "\r" in key:
            raise UsageError(f"the key {key!r} holds a line break, and a list has one key a line", fix="use the format positions")
    if format_ == "keys":
        return [key for key, *_ in rows]
    classes = {text: number for number, text in enumerate(sorted({text for _, value, text in rows if value is None and text is not None}))}
    if any(value is None and text is None for _, value, text in rows):
        raise UsageError("a kept sample has no label, and Caffe's list needs one", fix="use the format keys")
    return [f"{key} {classes[text] if value is None else value}" for key, value, text in rows]


def _label(folder: RunFolder) -> str:
    """The SQL of a label as number and as text. Raises UsageError where the set has no single label field."""
    fields = folder.plan().plan.fields_of(Role.LABEL)
    if len(fields) != 1:
        raise UsageError(f"the set has {len(fields)} label fields, and Caffe's list holds one label", fix="use the format keys or positions")
    name = struct(fields[0].name)
    return f"{name}.value, {name}.text"


def _index(folder: RunFolder, kept: Kept) -> dict[str, list[int]]:
    made: dict[str, list[int]] = {}
    for key, _ in _rows(folder, kept, "NULL"):
        file, mark, number = key.rpartition("#")
        if not mark or not number.isdecimal():
            raise UsageError(f"the key {key!r} names no numbered sample of a file", fix="use the format keys")
        made.setdefault(file, []).append(int(number))
    return made
