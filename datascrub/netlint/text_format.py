"""Protocol buffers' text format, read without a schema.

protobuf's own text_format needs Caffe's compiled caffe.proto, which comes with Caffe alone and differs between its forks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<word>[-+]?[A-Za-z0-9_.][A-Za-z0-9_.+-]*)
      | (?P<mark>[{}<>:,;\[\]])""",
    re.VERBOSE,
)
_CLOSING = {"{": "}", "<": ">"}
_DEEPEST = 64


class NotTextFormatError(ValueError):
    """The text is no text format; says the line."""


@dataclass(frozen=True)
class Scalar:
    """A value as written: a number, a name, or a text without its quotes."""

    line: int
    text: str

    def number(self) -> float | None:
        """The number, where it is one."""
        try:
            return float(self.text.rstrip("fF") if self.text[:1].isdigit() else self.text)
        except ValueError:
            return None


@dataclass(frozen=True)
class Message:
    """Fields by name, each with all its values in order."""

    line: int
    fields: dict[str, list[Scalar | Message]] = field(default_factory=dict)

    def messages(self, name: str) -> list[Message]:
        return [value for value in self.fields.get(name, ()) if isinstance(value, Message)]

    def message(self, name: str) -> Message:
        """The first message of that name, or an empty one."""
        return next(iter(self.messages(name)), Message(self.line))

    def scalars(self, name: str) -> list[Scalar]:
        return [value for value in self.fields.get(name, ()) if isinstance(value, Scalar)]

    def texts(self, name: str) -> list[str]:
        return [value.text for value in self.scalars(name)]

    def text(self, name: str, default: str = "") -> str:
        """The last value of that name: a later one wins."""
        return next((value.text for value in reversed(self.scalars(name))), default)

    def number(self, name: str, default: float | None = None) -> float | None:
        value = next(iter(reversed(self.scalars(name))), None)
        return default if value is None else value.number()

    def line_of(self, name: str) -> int:
        """The line of the first value of that name; of the message itself where there is none."""
        return next((value.line for value in self.fields.get(name, ())), self.line)


@dataclass(frozen=True)
class _Token:
    line: int
    kind: str
    text: str


def parse(text: str) -> Message:
    """The message that a text holds. Raises NotTextFormatError with the line where it stops being text format."""
    tokens = _Tokens(list(_tokens(text)))
    return _fields(tokens, 1, None, 0)


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise NotTextFormatError(f"line {line}: {text[place : place + 20]!r} is no text format")
        if found.lastgroup != "space":
            yield _Token(line, str(found.lastgroup), found.group())
        line += found.group().count("\n")
        place = found.end()


class _Tokens:
    """Tokens with one of them in view."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._place = tokens, 0
        self._end = _Token(tokens[-1].line if tokens else 1, "end", "the end")

    def peek(self) -> _Token:
        return self._tokens[self._place] if self._place < len(self._tokens) else self._end

    def take(self) -> _Token:
        token = self.peek()
        self._place += 1
        return token

    def takes(self, text: str) -> bool:
        """Whether the next token is this mark, which is taken then."""
        if self.peek().kind == "mark" and self.peek().text == text:
            self._place += 1
            return True
        return False


def _fields(tokens: _Tokens, line: int, closing: str | None, depth: int) -> Message:
    if depth > _DEEPEST:
        raise NotTextFormatError(f"line {line}: nested deeper than {_DEEPEST}")
    message = Message(line)
    while True:
        token = tokens.peek()
        if token.kind == "end" and closing is None:
            return message
        if closing is not None and tokens.takes(closing):
            return message
        if token.kind != "word":
            raise NotTextFormatError(f"line {token.line}: a field's name is expected, not {token.text}")
        tokens.take()
        message.fields.setdefault(token.text, []).extend(_values(tokens, depth))
        while tokens.takes(",") or tokens.takes(";"):
            pass


def _values(tokens: _Tokens, depth: int) -> Iterator[Scalar | Message]:
    has_colon = tokens.takes(":")
    if tokens.takes("["):
        while not tokens.takes("]"):
            yield _value(tokens, depth, has_colon)
            tokens.takes(",")
    else:
        yield _value(tokens, depth, has_colon)


def _value(tokens: _Tokens, depth: int, has_colon: bool) -> Scalar | Message:
    token = tokens.take()
    if token.kind == "mark" and token.text in _CLOSING:
        return _fields(tokens, token.line, _CLOSING[token.text], depth + 1)
    if has_colon and token.kind == "word":
        return Scalar(token.line, token.text)
    if has_colon and token.kind == "string":
        text = token.text[1:-1]
        while tokens.peek().kind == "string":
            text += tokens.take().text[1:-1]
        return Scalar(token.line, text)
    raise NotTextFormatError(f"line {token.line}: a value is expected, not {token.text}")
