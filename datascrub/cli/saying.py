"""What a command says, and to whom: work under way does not end because nobody listens."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def say(text: str = "", *, end: str = "\n") -> None:
    sys.stdout.write(text + end)


def tell(text: str = "") -> None:
    """Say it where somebody listens: work that is under way does not end because nobody does."""
    try:
        say(text)
        sys.stdout.flush()
    except BrokenPipeError:
        hush()


def hush() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
