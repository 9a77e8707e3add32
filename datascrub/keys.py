"""The grammar of keys: bytes of a source <-> text that a person can read, reversible and unique.

A key is the UTF-8 text of its bytes, unless that text could be mistaken: bytes that are no UTF-8, text that begins with 0x, and (outside paths)
text with unprintable characters are written as 0x and hexadecimal digits. Numbered samples of a file add # and a 0-based number to the file's key;
a number is always behind the last #. Terminals are protected where keys are printed (see printable), not here: a key leads back to its bytes.
"""

from __future__ import annotations


def text_of(raw: bytes, *, is_path: bool = False) -> str:
    """The key of these bytes. is_path: any decodable character may stand in it, as in file names."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "0x" + raw.hex()
    if not text or text.startswith("0x") or not (is_path or text.isprintable()):
        return "0x" + raw.hex()
    return text


def raw_of(text: str) -> bytes:
    """The bytes of a key. Raises ValueError where text begins with 0x and goes on with no hexadecimal digits."""
    return bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode("utf-8")


def numbered(file_key: str, number: int) -> str:
    """The key of sample `number` (from 0) of a file."""
    return f"{file_key}#{number}"


def split_number(key: str) -> tuple[str, int]:
    """(key of the file, number). Raises ValueError where key holds no number."""
    file_key, mark, number = key.rpartition("#")
    if not mark or not number.isdecimal():
        raise ValueError(f"no number behind the last # of {key!r}")
    return file_key, int(number)


def printable(text: str) -> str:
    """The text for a terminal: control, format and other unprintable characters escaped, as \\n, \\x1b, \\u202e."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
