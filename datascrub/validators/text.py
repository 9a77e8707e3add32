"""Texts that hold nothing, or no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from datascrub.model import Column, Kind, Role, Severity
from datascrub.rules import Measurement, RowRule, Rule
from datascrub.validators.base import Validator


@dataclass(frozen=True)
class Text(Validator):
    """A text that is empty, blank or no UTF-8.

    What it finds
        text-empty (warning; error where at most a hundredth of the set is so): no character. text-blank (the same): spaces and line ends alone.
        text-not-utf8 (error): bytes that are no UTF-8, said once where most of the set is so: another encoding then.

    Why it breaks training
        An empty target has no alignment: the CTC loss is infinite. A sequence of length zero divides by its length. Bytes that are no UTF-8 raise in
        the middle of an epoch, or are decoded to characters that nobody wrote.

    Example
        image-000000007  text-empty  the text is empty

    What to do
        Write the text, or leave the sample out. If the field is optional, switch the rule off or give the field the role ignore.

    Parameters and facts
        No parameters. Facts: characters, is_blank (white space alone, and some), is_utf8.
    """

    roles: ClassVar[frozenset[Role]] = frozenset({Role.TEXT, Role.LABEL})
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT})
    measures: ClassVar[Mapping[str, Measurement]] = {
        "characters": Measurement("BIGINT", "length of the text; of what is no UTF-8, in bytes", "characters", ">= 0"),
        "is_blank": Measurement("BOOLEAN", "whether it has characters, and all are white space"),
        "is_utf8": Measurement("BOOLEAN", "whether its bytes are UTF-8; NULL for labels"),
    }

    def measure(self, column: Column) -> Mapping[str, np.ndarray]:
        made = self.blank(len(column))
        known = np.fromiter((isinstance(value, (str, bytes)) for value in column.values), bool, len(column))
        values = [value for value in column.values if isinstance(value, (str, bytes))]
        made["characters"][known] = [len(value) for value in values]
        made["is_blank"][known] = [bool(value) and not value.strip() for value in values]
        if column.field.role is Role.TEXT:  # a label in another encoding is a name like others
            made["is_utf8"][known] = [isinstance(value, str) or _is_utf8(value) for value in values]
        return made

    def rules(self) -> Sequence[Rule]:
        fix = "write the text, or leave the sample out"
        return (
            RowRule(
                "text-empty",
                Severity.WARNING,
                "the text is empty",
                (),
                fix,
                where="characters == 0",
                common="set",
                rare=Severity.ERROR,
            ),
            RowRule(
                "text-blank",
                Severity.WARNING,
                "the text is white space alone ({characters:,} characters)",
                ("characters",),
                fix,
                where="is_blank == true",
                common="set",
                rare=Severity.ERROR,
            ),
            RowRule(
                "text-not-utf8",
                Severity.ERROR,
                "{characters:,} bytes that are no UTF-8",
                ("characters",),
                "write the text in UTF-8",
                where="is_utf8 == false",
                common="set",
            ),
        )


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
