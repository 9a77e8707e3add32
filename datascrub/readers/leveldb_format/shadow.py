"""A LevelDB made of the sound bytes of another: links to its tables, and a MANIFEST and a log of our own, in a temporary folder.

Opening a LevelDB rewrites its folder and needs the right to; here it rewrites the shadow. A table with damaged blocks stands there as a copy without
them, so that LevelDB's iterators, which stop or skip without a word at a damaged block, never meet one.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from datascrub.errors import MissingPackageError, SourceError
from datascrub.readers.leveldb_format import manifest
from datascrub.readers.leveldb_format.lock import holder
from datascrub.readers.leveldb_format.log import written
from datascrub.readers.leveldb_format.manifest import TableFile
from datascrub.readers.leveldb_format.state import State
from datascrub.readers.leveldb_format.tables import Table

_PREFIX = "datascrub-leveldb-"
_STALE_S = 3600
"""an hour; a shadow is made in seconds, and LevelDB then holds its lock as long as it is in use"""
_OPEN_FILES = 400
"""well under the usual limit of 1,024 for a process"""
_WRITE_BUFFER = 1 << 30
"""larger than any log, so that its entries become one table when the shadow opens"""


def plyvel() -> Any:
    """The package plyvel. Raises MissingPackageError with its cure."""
    try:
        import plyvel as package
    except ImportError as error:
        raise MissingPackageError(
            "a LevelDB needs the package plyvel", fix="pip install plyvel (it has wheels for Linux x86-64 and Python 3.11 and 3.12)"
        ) from error
    return package


class Shadow:
    """tables: those to show. omitted: by table number, the blocks that are left out."""

    def __init__(self, state: State, tables: Iterable[TableFile], omitted: Mapping[int, frozenset[int]], tmp: Path | None) -> None:
        package = plyvel()
        place = tmp if tmp is not None and tmp.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        _sweep(self._folder.parent)
        # A worker process may end without closing its readers; this runs when it ends in order.
        self._remove = Finalize(self, shutil.rmtree, (str(self._folder), True), exitpriority=1)
        try:
            self._fill(state, list(tables), omitted)
            self.db = package.DB(
                str(self._folder), paranoid_checks=True, compression=None, write_buffer_size=_WRITE_BUFFER, max_open_files=_OPEN_FILES
            )
        except (package.Error, OSError) as error:
            self._remove()
            says = str(error).replace(str(self._folder), "")
            raise SourceError(
                f"LevelDB can't open its tables: {says}", fix="make room in the temporary folder, or copy the data set again"
            ) from error
        except BaseException:
            self._remove()
            raise

    def _fill(self, state: State, tables: list[TableFile], omitted: Mapping[int, frozenset[int]]) -> None:
        shown = []
        for table in tables:
            source = state.paths[table.number].resolve()
            link = self._folder / source.name
            if omitted.get(table.number):
                shown += _patched(table, source, omitted[table.number], link)
            else:
                link.symlink_to(source)
                shown.append(table)
        log_number = max((table.number for table in tables), default=1) + 2
        edit = manifest.bytes_of(manifest.settled(shown), log_number=log_number, next_file=log_number + 1)
        (self._folder / f"MANIFEST-{log_number - 1:06d}").write_bytes(edit)
        (self._folder / f"{log_number:06d}.log").write_bytes(b"".join(written(state.batches)))
        (self._folder / "CURRENT").write_text(f"MANIFEST-{log_number - 1:06d}\n")

    def close(self) -> None:
        self.db.close()
        self._remove()


def _sweep(place: Path) -> None:
    """Remove the shadows of processes that were killed: nobody has them open, and they are not just being made."""
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S and holder(folder) is None:
                shutil.rmtree(folder, ignore_errors=True)


def _patched(table: TableFile, source: Path, omitted: frozenset[int], destination: Path) -> list[TableFile]:
    """The table written anew without some of its blocks, as the MANIFEST names it; nothing where no block is left."""
    whole = Table(source, table.size)
    try:
        if len(omitted) >= len(whole.blocks):
            return []
        whole.without(omitted, destination)
    finally:
        whole.close()
    return [replace(table, size=destination.stat().st_size)]
