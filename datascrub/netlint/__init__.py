"""A linter for Caffe's network and solver definitions: what makes a training diverge before it has seen a sample.

datascrub lint-net train_val.prototxt solver.prototxt --classes 1000
"""

from __future__ import annotations

from pathlib import Path

from datascrub.errors import UsageError
from datascrub.netlint.net import net_remarks
from datascrub.netlint.remark import Remark
from datascrub.netlint.solver import is_solver, solver_remarks
from datascrub.netlint.text_format import NotTextFormatError, parse

__all__ = ["Remark", "lint", "lint_file"]


def lint(text: str, classes: int | None = None) -> list[Remark]:
    """The remarks on a network or solver definition, in the order of its lines. classes: how many the labels know.

    Raises NotTextFormatError where the text is none.
    """
    message = parse(text)
    remarks = solver_remarks(message) if is_solver(message) else net_remarks(message, classes)
    return sorted(remarks, key=lambda remark: (remark.line, remark.code))


def lint_file(path: Path, classes: int | None = None) -> list[Remark]:
    """The remarks on a file. Raises UsageError where it can't be read or is no prototxt."""
    try:
        return lint(path.read_text("utf-8", "replace"), classes)
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}") from error
    except NotTextFormatError as error:
        raise UsageError(f"{path} is no prototxt: {error}", fix="give a network or solver definition of Caffe in text form") from error
