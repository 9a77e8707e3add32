"""The Huffman codes of a sequential JPEG, read one by one: for the rare files whose decoder keeps its warnings to itself.

About a microsecond a code: a hundred times slower than a decoder, and asked for files of uncommon sampling alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datascrub.media.jpeg import Structure

_MOST_BYTES = 4_000_000
"""entropy-coded bytes that are read; some seconds' work"""
_RESTART = re.compile(rb"\xff+[\xd0-\xd7]")

_Table = list[int]
"""65,536 entries by the next 16 bits: length << 8 | symbol; 0 where no code begins so"""


def fault(data: bytes, structure: Structure) -> str:
    """What is wrong with the first scan that is wrong: "bad Huffman code", "premature end of data segment"; "" where every code is right.

    Progressive and arithmetic files are not judged.
    """
    if structure.sof not in (0xC0, 0xC1) or sum(stop - start for _, start, stop in structure.scans) > _MOST_BYTES:
        return ""
    tables: dict[int, _Table] = {}
    interval, at = 0, 2
    for header, start, stop in structure.scans:
        interval = _definitions(data[at:header], tables, interval)
        wrong = _scan(data, structure, header, (start, stop), tables, interval)
        if wrong:
            return wrong
        at = stop
    return ""


def _definitions(block: bytes, tables: dict[int, _Table], interval: int) -> int:
    """Takes in the Huffman tables between two scans, and returns the restart interval that holds behind them."""
    at = 0
    while (at := block.find(b"\xff", at)) >= 0 and at + 4 <= len(block):
        marker = block[at + 1]
        if marker in (0x00, 0xFF, 0x01, *range(0xD0, 0xDA)):
            at += 1
            continue
        length = int.from_bytes(block[at + 2 : at + 4], "big")
        body = block[at + 4 : at + 2 + length]
        if marker == 0xC4:
            _huffman(body, tables)
        elif marker == 0xDD and len(body) >= 2:
            interval = int.from_bytes(body[:2], "big")
        at += 2 + max(length, 2)
    return interval


def _huffman(body: bytes, tables: dict[int, _Table]) -> None:
    """Takes in the tables of one DHT segment."""
    while len(body) >= 17:
        counts, symbols = body[1:17], body[17 : 17 + sum(body[1:17])]
        table, code, taken = [0] * 65536, 0, 0
        for length, count in enumerate(counts, 1):
            for symbol in symbols[taken : taken + count]:
                low = code << (16 - length)
                high = min(low + (1 << (16 - length)), 65536)
                table[low:high] = [length << 8 | symbol] * (high - low)
                code += 1
            taken += count
            code <<= 1
        tables[body[0]] = table
        body = body[17 + len(symbols) :]


def _scan(data: bytes, structure: Structure, header: int, span: tuple[int, int], tables: dict[int, _Table], interval: int) -> str:
    count = data[header + 4]
    named = data[header + 5 : header + 5 + 2 * count]
    identifiers = [data[structure.sof_at + 10 + 3 * i] for i in range(len(structure.sampling))]
    if len(named) < 2 * count or any(c not in identifiers for c in named[::2]):
        return "a scan names a component that the frame does not have"
    blocks: list[tuple[int, _Table, _Table]] = []
    for component, selector in zip(named[::2], named[1::2], strict=True):
        h, v = structure.sampling[identifiers.index(component)] if count > 1 else (1, 1)
        dc, ac = tables.get(selector >> 4), tables.get(0x10 | selector & 15)
        if dc is None or ac is None:
            return "a Huffman table was not defined"
        blocks += [(component, dc, ac)] * (h * v)
    units = _units(structure, identifiers.index(named[0]) if count == 1 else -1)
    return _segments(data[slice(*span)], blocks, units, interval)


def _units(structure: Structure, alone: int) -> int:
    """Coded units of a scan: of all components together, or of the one that stands alone in it."""
    most_h, most_v = max(h for h, _ in structure.sampling), max(v for _, v in structure.sampling)
    h, v = structure.sampling[alone] if alone >= 0 else (1, 1)
    if not (most_h and most_v and h and v):
        return 0
    wide, high = (structure.width * h, structure.height * v) if alone >= 0 else (structure.width, structure.height)
    return -(-wide // (8 * most_h)) * -(-high // (8 * most_v))


def _segments(coded: bytes, blocks: list[tuple[int, _Table, _Table]], units: int, interval: int) -> str:
    for segment in _RESTART.split(coded) if interval else [coded]:
        due = min(units, interval) if interval else units
        wrong = _read(segment.replace(b"\xff\x00", b"\xff"), blocks, due)
        if wrong:
            return wrong
        units -= due
    return "premature end of data segment" if units > 0 else ""


def _read(bits: bytes, blocks: list[tuple[int, _Table, _Table]], units: int) -> str:
    """Reads the codes of `units` units; bits: without stuffing."""
    size, at = 8 * len(bits), 0
    padded = bits + b"\xff\xff\xff\xff"
    for _ in range(units):
        for _, dc, ac in blocks:
            table, index = dc, 0
            while index < 64:
                place = at >> 3
                window = (padded[place] << 16 | padded[place + 1] << 8 | padded[place + 2]) >> (8 - (at & 7)) & 0xFFFF
                entry = table[window]
                if not entry:
                    return "bad Huffman code" if at + 16 <= size else "premature end of data segment"
                symbol = entry & 0xFF
                at += (entry >> 8) + (symbol & 15)
                if at > size:
                    return "premature end of data segment"
                if table is dc:
                    table, index = ac, 1
                elif symbol & 15:
                    index += (symbol >> 4) + 1
                elif symbol == 0xF0:
                    index += 16
                else:
                    break
    return ""
