"""Arrays that a mask of their own shape lies over: found for the set, and lent the mask of each sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from datascrub.model import MASKED, Column, Field, Kind, Role


def with_masks(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The fields, those marked that hold floating numbers in the shape of the only mask of the set."""
    masks = [field for field in fields if field.role is Role.MASK and field.kind is Kind.ARRAY]
    if len(masks) != 1:
        return fields
    return tuple(replace(field, declared=(*field.declared, MASKED)) if _lies_under(masks[0], field) else field for field in fields)


def _lies_under(mask: Field, field: Field) -> bool:
    is_floating = field.role is Role.ARRAY and field.kind is Kind.ARRAY and "float" in (field.dtype or "")
    return is_floating and field.shape == mask.shape


def lend_masks(columns: Mapping[str, Column]) -> None:
    """Give each marked column of a batch the masks of its samples, as something that is declared of it."""
    for column in columns.values():
        if MASKED in column.field.declared:
            mask = next((each for each in columns.values() if each.field.role is Role.MASK and each.field.kind is Kind.ARRAY), None)
            if mask is not None:
                column.declared = {**column.declared, MASKED: mask.values}
