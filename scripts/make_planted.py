#!/usr/bin/env python3
"""A folder of photos with planted faults, and how many of them a scan names.

    scripts/make_planted.py FOLDER [--samples N] [--share S] [--seed K] [--kinds NAME…] [--score]

Writes N pictures (20,000) in ten class folders, made from the seed; a share S (0.005) of them carries each kind of fault. What was planted stands
beside the folder, in FOLDER.planted.csv (key, kind). --score scans it and prints for each rule its recall and its false alarms, and how many
healthy samples have an error.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
CLASSES = 10
WIDTH, HEIGHT = 120, 90


def photo(random: np.random.Generator) -> Image.Image:
    """Soft colours, a few edges, camera noise."""
    soft = Image.fromarray(random.integers(20, 236, (7, 9, 3), np.uint8)).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    pixels = np.asarray(soft, np.float32).copy()
    for top, left, high, wide in random.integers(5, 60, (4, 4)):
        pixels[top : top + high, left : left + wide] += random.integers(-60, 60, 3)
    pixels += random.normal(0, 5, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def jpeg(image: Image.Image, quality: int = 90) -> bytes:
    made = io.BytesIO()
    image.save(made, "JPEG", quality=quality)
    return made.getvalue()


def png(image: Image.Image) -> bytes:
    made = io.BytesIO()
    image.save(made, "PNG")
    return made.getvalue()


def flat_tail(image: Image.Image) -> Image.Image:
    """The lowest third gray, as a lenient decoder leaves it."""
    made = image.copy()
    made.paste((128, 128, 128), (0, 2 * HEIGHT // 3, WIDTH, HEIGHT))
    return made


def dimmed(image: Image.Image, low: int, high: int) -> Image.Image:
    return image.point(lambda level: low + level * (high - low) // 255)


def holed(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + data[middle + 1000 :]


def zeroed(data: bytes) -> bytes:
    """600 bytes zeroed: where they happen to be valid codes and the picture ends as it should, no decoder can see it."""
    middle = len(data) // 2
    return data[:middle] + bytes(600) + data[middle + 600 :]


def commented(data: bytes) -> bytes:
    """The same picture with a comment segment in front."""
    return data[:2] + b"\xff\xfe\x00\x06copy" + data[2:]


Fault = Callable[[Image.Image, list[bytes], np.random.Generator], bytes]
"""(the photo, earlier healthy ones of its class to take from, random numbers) -> what is stored"""
FAULTS: Mapping[str, tuple[Fault, str]] = {
    "truncated": (lambda image, _, r: jpeg(image)[: int(r.integers(1500, 2500))], "image-truncated"),
    "piece missing": (lambda image, _, r: holed(jpeg(image)), "image-damaged"),
    "zeroed": (lambda image, _, r: zeroed(jpeg(image)), "image-damaged"),
    "page": (lambda image, _, r: b"<!DOCTYPE html><html><body>Sorry %d</body></html>" % r.integers(1 << 40), "image-not-an-image"),
    "empty": (lambda image, _, r: b"", "image-empty record-empty"),
    "other format": (lambda image, _, r: png(image), "image-format-mismatch"),
    "blank": (lambda image, _, r: jpeg(Image.new("RGB", image.size, tuple(r.integers(0, 255, 3).tolist()))), "image-blank"),
    "dark": (lambda image, _, r: jpeg(dimmed(image, 0, 24)), "image-too-dark"),
    "bright": (lambda image, _, r: jpeg(dimmed(image, 236, 255)), "image-too-bright"),
    "cut, saved again": (lambda image, _, r: jpeg(flat_tail(image)), "image-flat-band"),
    "gray": (lambda image, _, r: jpeg(image.convert("L").convert("RGB")), "image-gray-among-colour"),
    "blurred": (lambda image, _, r: jpeg(image.filter(ImageFilter.GaussianBlur(5)), 95), "image-blurred"),
    "large": (lambda image, _, r: jpeg(image.resize((6 * WIDTH, 6 * HEIGHT))), "image-size-odd"),
    "banner": (lambda image, _, r: jpeg(image.resize((4 * WIDTH, HEIGHT // 3))), "image-aspect-odd"),
    "exact copy": (lambda image, earlier, r: earlier.pop(0), "exact-duplicate"),
    "same pixels": (lambda image, earlier, r: commented(earlier.pop(0)), "pixel-duplicate"),
    "saved again": (lambda image, earlier, r: jpeg(Image.open(io.BytesIO(earlier.pop(0))).convert("RGB"), 60), "near-duplicate"),
    "placeholder": (lambda image, _, r: PLACEHOLDER, "duplicate-label-conflict"),
}  # fmt: skip
"""kind -> (how it is made, the codes that name it: one is enough)"""


def placeholder() -> bytes:
    pixels = np.full((HEIGHT, WIDTH, 3), 235, np.uint8)
    for top, right in ((30, 100), (42, 80), (54, 92)):
        pixels[top : top + 5, 14:right] = 90
    return jpeg(Image.fromarray(pixels))


PLACEHOLDER = placeholder()


def make(folder: Path, samples: int, share: float, seed: int, kinds: Sequence[str]) -> dict[str, str]:
    """Writes the pictures; key -> kind of each planted one. Copies are of pictures of the same class, so that labels agree."""
    random = np.random.default_rng(seed)
    count = max(1, round(share * samples))
    places = random.choice(np.arange(samples // 5, samples), count * len(kinds), replace=False)
    kind_of = {int(place): kinds[at // count] for at, place in enumerate(places)}
    earlier: dict[int, list[bytes]] = defaultdict(list)
    planted: dict[str, str] = {}
    for number in range(samples):
        its_class = number % CLASSES
        random = np.random.default_rng([seed, number])
        image = photo(random)
        kind = kind_of.get(number)
        if kind is None:
            data = jpeg(image)
            if len(earlier[its_class]) < 4 * count:
                earlier[its_class].append(data)
        else:
            data = FAULTS[kind][0](image, earlier[its_class], random)
            planted[f"{its_class}/{number:06d}.jpg"] = kind
        place = folder / str(its_class) / f"{number:06d}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    with folder.with_name(folder.name + ".planted.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("key", "kind"), *planted.items()])
    return planted


def score(folder: Path, planted: Mapping[str, str], samples: int) -> None:
    """Scans, and prints the table. A copy's earlier picture, or a later one of the same kind, may be named in its stead."""
    from datascrub import cli
    from datascrub.run.findings import read_findings
    from datascrub.run.folder import RunFolder

    keys: dict[str, set[str]] = defaultdict(set)
    errors: set[str] = set()
    with tempfile.TemporaryDirectory() as aside:
        run = Path(aside) / "run"
        cli.main(["scan", str(folder), "--out", str(run)])
        for finding in read_findings(RunFolder(run)):
            if finding.key is not None:
                keys[finding.code].add(finding.key)
                if finding.severity.value == "error":
                    errors.add(finding.key)
    print(f"\n{'kind':<18}{'rule':<28}{'planted':>8}{'found':>8}{'recall':>8}{'on healthy':>12}")
    for kind in dict.fromkeys(planted.values()):
        codes = FAULTS[kind][1].split()
        its = {key for key, planted_kind in planted.items() if planted_kind == kind}
        named = set().union(*(keys[code] for code in codes))
        found = len(its & named)
        print(f"{kind:<18}{codes[0]:<28}{len(its):>8,}{found:>8,}{found / len(its):>8.3f}{len(named - set(planted)):>12,}")
    healthy = samples - len(planted)
    told = sorted(code for code in keys if keys[code] - set(planted))
    print(f"\n{healthy:,} healthy samples: {len(errors - set(planted))} with an error; rules that name any: {', '.join(told) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--share", type=float, default=0.005)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    parser.add_argument("--score", action="store_true")
    given = parser.parse_args()
    planted = make(given.folder, given.samples, given.share, given.seed, given.kinds)
    if given.score:
        score(given.folder, planted, given.samples)


if __name__ == "__main__":
    main()
