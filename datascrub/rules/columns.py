"""Names of fields as names of columns in the facts, where every name in every query must be another."""

from __future__ import annotations

from datascrub.rules.on_sql import quoted

_LOWERED = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def struct(field: str) -> str:
    """The column of a field in the facts, quoted: its name and a dot, which no other name in any query has.

    Names in SQL ignore the case of letters, and two fields may differ by nothing else: behind the dot stand the places of capitals, as bits.
    """
    if field == "record":
        return quoted(field)
    capitals = sum(1 << place for place, letter in enumerate(field) if "A" <= letter <= "Z")
    return quoted(f"{field.translate(_LOWERED)}.{capitals:x}" if capitals else f"{field}.")


def field_of(column: str) -> str:
    """The field of a column of the facts; the inverse of struct."""
    name, mark, capitals = column.rpartition(".")
    if not mark:
        return column  # number, key, record and the like
    bits = int(capitals, 16) if capitals else 0
    return "".join(letter.upper() if bits >> place & 1 else letter for place, letter in enumerate(name))
