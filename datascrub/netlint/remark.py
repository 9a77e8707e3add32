"""What the linter says of one line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """line: from 1. severity: error (the training fails or its loss is not a number) or warning. reason: why; cure: what to write instead."""

    line: int
    severity: str
    code: str
    reason: str
    cure: str

    def __str__(self) -> str:
        return f"{self.line}: {self.severity} {self.code}: {self.reason}\n    cure: {self.cure}"
