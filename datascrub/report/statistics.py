"""A set as a whole, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datascrub.keys import printable
from datascrub.report.text import size

_MOST_LINES = 20
_MOST_VALUES = 6


def statistics(told: Mapping[str, Any]) -> str:
    """What spine.statistics found."""
    lines = [f"{printable(told['source'])}: {told['samples']:,} samples measured, {told['kept']:,} without an error; what follows is of these"]
    if told["splits"]:
        lines.append("  splits: " + ", ".join(f"{split} {count:,}" for split, count in told["splits"].items()))
    its = told.get("size_bytes")
    if its:
        lines.append(f"  a record: {size(its['least'])} to {size(its['most'])}, median {size(its['median'])}, all together {size(its['total'])}")
    for name, field in told["fields"].items():
        lines += ["", f"{printable(name)} ({field['role']})"]
        lines += [f"  {line}" for line in _field(field)]
    return "\n".join(lines)


def _field(its: Mapping[str, Any]) -> list[str]:
    lines = [f"{word}: {_counts(its[word])}" for word in ("formats", "kinds", "sizes", "shapes", "types") if word in its]
    for word, unit in (("width", "pixels"), ("height", "pixels"), ("characters", ""), ("boxes", "a sample")):
        if word in its:
            spread = its[word]
            lines.append(f"{word}: {spread['least']:,} to {spread['most']:,}, median {spread['median']:,} {unit}".rstrip())
    if "range" in its:
        lines.append(f"values: {its['range']['least']:.6g} to {its['range']['most']:.6g}")
    if "numbers" in its:
        numbers = its["numbers"]
        lines.append(f"numbers: {numbers['least']:.6g} to {numbers['most']:.6g}, {_moments(numbers)}")
    if "all_values" in its:
        lines.append(f"all values: {_moments(its['all_values'])}")
    if "gray" in its:
        gray = its["gray"]
        lines.append(f"gray pixels at reduced size, each picture counting once: {_moments(gray)}; levels {gray['low']} to {gray['high']}")
    for each in its.get("channels", ()):
        mean, deviation = (" ".join(_number(value) for value in each[name]) for name in ("mean", "deviation"))
        lines.append(f"{each['channels']} channels of {each['samples']:,} samples, exact: mean {mean}; deviation {deviation}")
        if its.get("kinds") and all(kind.startswith("8-bit") for kind in its["kinds"]):
            mean, deviation = (" ".join(_number(value / 255) for value in each[name]) for name in ("mean", "deviation"))
            lines.append(f"  scaled to 0..1: mean {mean}; deviation {deviation}")
    if "channels" not in its and ("gray" in its or "all_values" in its):
        lines.append("channel by channel: scan with --exact-statistics")
    return lines + _classes(its.get("classes") or {})


def _classes(classes: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The most frequent classes, and the rarest."""
    if not classes:
        return []
    total = sum(its["samples"] for its in classes.values())
    ranked = sorted(classes.items(), key=lambda item: -item[1]["samples"])
    shown = list(classes.items()) if len(classes) <= _MOST_LINES else [*ranked[: _MOST_LINES // 2], *ranked[-_MOST_LINES // 2 :]]
    width = max(len(printable(label)) for label, _ in shown)
    lines = [
        f"{len(classes):,} classes{f'; the {_MOST_LINES // 2} most frequent and the {_MOST_LINES // 2} rarest' if len(shown) < len(classes) else ''}"
    ]
    for label, its in shown:
        splits = "".join(f"  {split} {count:,}" for split, count in its.items() if split != "samples")
        lines.append(f"  {printable(label):{width}}  {its['samples']:>{len(f'{total:,}')},}  {its['samples'] / total:6.2%}{splits}")
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    shown = [f"{printable(value) or 'scalar'} ({count:,})" for value, count in list(counts.items())[:_MOST_VALUES]]
    return ", ".join(shown) + (f" and {len(counts) - _MOST_VALUES:,} more" if len(counts) > _MOST_VALUES else "")


def _moments(its: Mapping[str, Any]) -> str:
    return f"mean {_number(its['mean'])}, deviation {_number(its['deviation'])}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6g}"
