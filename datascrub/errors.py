"""The tree of errors: the request or the machine is bad, never the data.

Bad data is a finding and the scan goes on. What is raised here stops the run, if it can before work starts; it says what, where, and what to do,
and carries the exit code that the command ends with.
"""

from __future__ import annotations

import re
from typing import ClassVar


class DatascrubError(Exception):
    """Base of all errors that datascrub raises on purpose.

    what: one sentence, no trailing full stop.
    fix: what the reader of the message can do; empty where there is nothing to do.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, what: str, *, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n  fix: {self.fix}" if self.fix else self.what

    def __reduce__(self) -> tuple[object, tuple[type[DatascrubError], str, str]]:
        # Errors cross process borders; keyword-only arguments do not survive the default pickling of exceptions.
        return _restore, (type(self), self.what, self.fix)


def _restore(kind: type[DatascrubError], what: str, fix: str) -> DatascrubError:
    return kind(what, fix=fix)


class UsageError(DatascrubError):
    """A wrong flag, key, configuration or call."""

    exit_code = 2


class MissingPackageError(UsageError):
    """An optional package that this work needs is not installed."""


class SourceError(DatascrubError):
    """The source can't be scanned: missing, locked, empty, not recognised."""

    exit_code = 3


class IncompleteError(DatascrubError):
    """Something in the plan was not done; the same command may go on."""

    exit_code = 4


class CopyError(DatascrubError):
    """A cleaned copy was asked for and not written."""

    exit_code = 5


class ChildDiedError(DatascrubError):
    """A child process was killed or hung while it worked on foreign bytes.

    cause: the signal's name (SIGSEGV, SIGBUS, SIGKILL, …), or "timeout".
    """

    def __init__(self, what: str, *, fix: str = "", cause: str = "") -> None:
        super().__init__(what, fix=fix)
        self.cause = cause

    def __reduce__(self) -> tuple[object, tuple[type[DatascrubError], str, str]]:
        return _restore_death, (type(self), self.what, self.fix, self.cause)  # type: ignore[return-value]  # one more argument than the base


def _restore_death(kind: type[ChildDiedError], what: str, fix: str, cause: str) -> ChildDiedError:
    return kind(what, fix=fix, cause=cause)


def told(error: BaseException) -> str:
    """An exception in one line that two runs write the same: no address of memory, no path of the machine."""
    if isinstance(error, OSError) and error.strerror:
        return f"OSError: {error.strerror}"
    text = re.sub(r"\b0x[0-9a-fA-F]{6,}\b", "0x…", str(error).partition("\n")[0])
    text = re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", text)
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
