"""What a training does to a sample before its network sees it: `[preprocess]` of the configuration, or a function of the user's own."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from datascrub.config import PreprocessConfig
from datascrub.errors import UsageError, told
from datascrub.model import Column, Kind

CROP, LAYOUT, ZERO_DEVIATION, FAILS, NOT_FINITE = "crop-too-large", "layout-wrong", "zero-deviation", "fails", "not-finite"
OK = "ok"
_TILE_BYTES = 1 << 24
_CHANNELS = (1, 2, 3, 4)
_MOST_CHANNELS = 4


class PreprocessError(Exception):
    """One sample can't be preprocessed. status: one of the words above."""

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


@dataclasses.dataclass
class Outcome:
    """What became of N samples, (N,) object each. status: OK or a word above; None where there was no value. detail: why it is not OK."""

    status: np.ndarray
    detail: np.ndarray


def config_of(settings: Mapping[str, Any]) -> PreprocessConfig:
    """The configuration that a plan holds as plain JSON."""
    made: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return PreprocessConfig(**made)


def preprocessed(column: Column, how: PreprocessConfig, outcome: Outcome) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Blocks (rows, block) of what the network gets, some MB at a time; outcome is filled in on the way. Damaged pictures are in no block."""
    held: dict[tuple[Any, ...], list[tuple[int, np.ndarray]]] = {}
    for row, value in enumerate(_values(column, how.mode)):
        if value is None:
            continue
        try:
            made = apply(value, how, is_picture=column.field.kind is Kind.ENCODED)
        except PreprocessError as error:
            outcome.status[row], outcome.detail[row] = error.status, error.detail
            continue
        outcome.status[row] = OK
        if not made.size:
            continue
        alike = held.setdefault((made.shape, made.dtype.str), [])
        alike.append((row, made))
        if len(alike) * made.nbytes >= _TILE_BYTES:
            yield _block(alike)
            alike.clear()
    yield from (_block(alike) for alike in held.values() if alike)


def _block(alike: list[tuple[int, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row for row, _ in alike]), np.stack([made for _, made in alike])


def _values(column: Column, mode: str) -> Iterator[np.ndarray | None]:
    if column.field.kind is not Kind.ENCODED:
        yield from (None if value is None or np.asarray(value).dtype.kind not in "biuf" else np.asarray(value) for value in column.values)
        return
    from datascrub.media.picture import pictures

    for value, picture in zip(column.values, pictures(column), strict=True):
        yield decoded(value, mode) if picture is not None and picture.is_ok else None


def decoded(data: bytes, mode: str = "RGB") -> np.ndarray | None:
    """The first frame of an encoded picture, (H, W) or (H, W, C), turned as stored; None where Pillow can't read what the strict check could."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            return np.array(image.convert(mode) if mode else image)
    except (OSError, ValueError, SyntaxError):
        return None


def apply(value: np.ndarray, how: PreprocessConfig, *, is_picture: bool = False) -> np.ndarray:
    """One sample as the network gets it. Raises PreprocessError."""
    if how.call is not None:
        made = _called(value, how.call)
    else:
        with np.errstate(all="ignore"):
            made = _apply(value, how, is_picture)
    if made.dtype.kind == "f" and not np.isfinite(made).all() and np.isfinite(np.asarray(value, np.float64)).all():
        raise PreprocessError(NOT_FINITE, f"{np.count_nonzero(~np.isfinite(made)):,} of {made.size:,} values are NaN or infinite, none of its own is")
    return made


def _called(value: np.ndarray, name: str) -> np.ndarray:
    function = function_named(name)
    try:
        made = function(value)
        made = np.asarray(made.detach().cpu() if hasattr(made, "detach") else made)
    except Exception as error:
        raise PreprocessError(FAILS, f"{name} raised {told(error)}") from error
    if made.dtype.kind not in "biuf" or not made.size:
        raise PreprocessError(FAILS, f"{name} gave {made.dtype} of shape {made.shape}, not numbers")
    return made


def _apply(value: np.ndarray, how: PreprocessConfig, is_picture: bool) -> np.ndarray:
    source, target = _layouts(how.layout, is_picture)
    has_channels = how.layout is not None or is_picture or any(isinstance(each, tuple) or each == "channel" for each in (how.mean, how.std))
    needs_picture = has_channels or how.resize is not None or how.crop is not None
    made = _channels_last(value, source, how) if needs_picture else value
    if how.resize is not None:
        made = _resized(made, how.resize)
    if how.crop is not None:
        made = _cropped(made, how.crop)
    made = _normalised(made.astype(np.float32), how, needs_picture)
    if needs_picture and target == "CHW" and made.ndim == 3:
        made = np.moveaxis(made, -1, 0)
    return np.require(_cast(made, how.dtype), requirements="C")


def _cast(values: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        from datascrub.network.numpy import ops

        return ops().rounded(values, dtype)
    return values.astype(dtype)


def _layouts(layout: str | None, is_picture: bool) -> tuple[str, str]:
    """How the axes stand in the source, and how the network takes them. Without an arrow an array stands as it is taken."""
    source, arrow, target = (layout or "HWC").partition("->")
    if arrow:
        return source, target
    return ("HWC" if is_picture else source), source


def _channels_last(value: np.ndarray, source: str, how: PreprocessConfig) -> np.ndarray:
    """(H, W) or (H, W, C). A wrong order of axes is known by its channels: 1 to 4, or as many as mean and std name."""
    if value.ndim == 2:
        return value[:, :, np.newaxis] if how.layout is not None else value
    if value.ndim != 3:
        raise PreprocessError(LAYOUT, f"{_axes(value)} is no picture, which has 2 or 3 axes")
    named = {len(each) for each in (how.mean, how.std) if isinstance(each, tuple) and len(each) > 1}
    count = value.shape[0] if source == "CHW" else value.shape[2]
    if count not in (named or _CHANNELS):
        other, there = ("HWC", value.shape[2]) if source == "CHW" else ("CHW", value.shape[0])
        wanted = " or ".join(map(str, sorted(named))) if named else f"1 to {_MOST_CHANNELS}"
        hint = f"; it looks like {other}" if there in (named or _CHANNELS) else ""
        raise PreprocessError(LAYOUT, f"{_axes(value)} read as {source} has {count} channels, not {wanted}{hint}")
    return np.moveaxis(value, 0, -1) if source == "CHW" else value


def _axes(value: np.ndarray) -> str:
    return "x".join(map(str, value.shape)) or "a single number"


def _resized(picture: np.ndarray, size: int | tuple[int, int]) -> np.ndarray:
    """Bilinear, with what lies between averaged, as Pillow does."""
    from PIL import Image

    height, width = picture.shape[:2]
    if isinstance(size, tuple):
        wanted = size
    else:  # the shorter side becomes that long
        short = min(height, width)
        wanted = (max(1, height * size // short), max(1, width * size // short)) if short else (size, size)
    if not picture.size or (height, width) == wanted:
        return picture
    planes = picture[:, :, np.newaxis] if picture.ndim == 2 else picture
    made = [
        np.asarray(Image.fromarray(np.ascontiguousarray(planes[:, :, at], np.float32)).resize(wanted[::-1], Image.Resampling.BILINEAR))
        for at in range(planes.shape[2])
    ]
    return made[0] if picture.ndim == 2 else np.stack(made, axis=2)


def _cropped(picture: np.ndarray, size: int | tuple[int, int]) -> np.ndarray:
    """From the middle."""
    height, width = size if isinstance(size, tuple) else (size, size)
    if height > picture.shape[0] or width > picture.shape[1]:
        raise PreprocessError(CROP, f"a crop of {width} x {height} from {picture.shape[1]} x {picture.shape[0]} pixels")
    top, left = (picture.shape[0] - height) // 2, (picture.shape[1] - width) // 2
    return picture[top : top + height, left : left + width]


def _normalised(values: np.ndarray, how: PreprocessConfig, has_channels: bool) -> np.ndarray:
    if how.scale is not None:
        values = values * np.float32(how.scale)
    axes = (0, 1) if has_channels and values.ndim == 3 else None
    if how.mean is not None:
        values = values - _of(values, how.mean, "mean", axes)
    if how.std is not None:
        deviation = _of(values, how.std, "std", axes)
        if not deviation.all():
            which = "" if deviation.ndim == 0 else f" of channel {int(np.flatnonzero(deviation == 0)[0])}"
            raise PreprocessError(ZERO_DEVIATION, f"its own deviation{which} is 0: all values are the same, and are divided by it")
        values = values / deviation
    return values.astype(np.float32)


def _of(values: np.ndarray, wanted: float | tuple[float, ...] | str, name: str, axes: tuple[int, int] | None) -> np.ndarray:
    """A mean or deviation: the one declared, or the sample's own."""
    if not isinstance(wanted, str):
        return np.asarray(wanted, np.float32)
    over = axes if wanted == "channel" else None
    if name == "std" and values.size:
        # A rounded mean would give equal values a deviation.
        is_flat = values.max(axis=over) == values.min(axis=over)
        return np.where(is_flat, 0.0, values.std(axis=over, dtype=np.float64))
    return np.asarray(values.mean(axis=over, dtype=np.float64))


@functools.lru_cache(maxsize=8)
def function_named(name: str) -> Callable[..., Any]:
    """The object that pkg.mod:fn names, looked for in the working directory too. Raises UsageError where there is none."""
    module, _, path = name.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever importing a module of the user's does
        raise UsageError(f"{name} can't be had: {told(error)}", fix="give it as pkg.mod:name, importable from here") from error
    if not callable(found):
        raise UsageError(f"{name} is no function")
    function: Callable[..., Any] = found
    return function


def digest_of(name: str) -> str:
    """xxh3-128 of the file that holds what pkg.mod:fn names. Raises UsageError where there is none."""
    import xxhash

    function_named(name)
    file = getattr(sys.modules[name.partition(":")[0]], "__file__", None)
    return xxhash.xxh3_128_hexdigest(Path(file).read_bytes()) if file else ""
