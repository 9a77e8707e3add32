"""The databases inside one LMDB, and how a record of any of them is called.

A record of the main database goes by its own key. One of a named database has that name and / before it. In a database that takes several values a
key, # and a number (from 0) stand behind. Names never collide: a main key that begins as one of a named database is written in hexadecimal, and so is
a name with / in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datascrub.keys import numbered, raw_of, split_number, text_of


@dataclass(frozen=True)
class Database:
    """name: None for the main one. flags: as lmdb's open_db takes them, those that are set."""

    name: bytes | None
    flags: Mapping[str, bool] = field(default_factory=dict)
    is_aside: bool = False

    @property
    def is_dupsort(self) -> bool:
        return bool(self.flags.get("dupsort"))

    @property
    def prefix(self) -> str:
        """The name as a key begins with it, without the / behind it; empty for the main one."""
        if self.name is None:
            return ""
        text = text_of(self.name)
        return "0x" + self.name.hex() if "/" in text else text

    def as_json(self) -> dict[str, Any]:
        return {"name": None if self.name is None else self.name.hex(), "flags": sorted(self.flags), "aside": self.is_aside}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Database:
        name = value["name"]
        return cls(None if name is None else bytes.fromhex(name), dict.fromkeys(value["flags"], True), value["aside"])


class Names:
    """Keys <-> records over all databases."""

    def __init__(self, databases: Sequence[Database]) -> None:
        self._by_prefix = {database.prefix: database for database in databases}

    def __len__(self) -> int:
        return len(self._by_prefix)

    def text(self, database: Database, raw: bytes, duplicate: int = 0) -> str:
        text = text_of(raw)
        if database.name is not None:
            text = f"{database.prefix}/{text}"
        elif len(self._by_prefix) > 1 and "/" in text and text.partition("/")[0] in self._by_prefix:
            text = "0x" + raw.hex()
        return numbered(text, duplicate) if database.is_dupsort else text

    def record(self, text: str) -> tuple[Database, bytes, int]:
        """(database, key, number among the values of the key). Raises ValueError where no record can be called so."""
        head, slash, rest = text.partition("/")
        database = self._by_prefix.get(head) if slash and head else None
        if database is None:
            database, rest = self._by_prefix.get(""), text
        if database is None:
            raise ValueError(f"no database holds {text!r}")
        if not database.is_dupsort:
            return database, raw_of(rest), 0
        key, number = split_number(rest)
        return database, raw_of(key), number
