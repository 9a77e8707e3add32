"""image_outliers: the picture that is unlike its set."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageFilter

from tests.media.drawn import encoded, jpeg, picture
from tests.validators.picture_court import judged, of

OURS = ("image-size-odd", "image-aspect-odd", "image-blurred", "image-low-information", "image-gray-among-colour", "image-colour-among-gray")
OURS += ("image-animated-odd",)


def photos(count: int = 25) -> dict[str, bytes]:
    return {f"{seed}.jpg": jpeg(seed) for seed in range(count)}


def flat_picture() -> Image.Image:
    image = Image.new("RGB", (160, 120), (250, 40, 40))
    image.paste((40, 40, 250), (20, 20, 120, 100))
    return image


ODD = {
    "image-size-odd": encoded(picture(90, 800, 600), "JPEG"),
    "image-aspect-odd": encoded(picture(90, 500, 40), "JPEG"),
    "image-blurred": encoded(picture(90, 160, 120).filter(ImageFilter.GaussianBlur(6)), "JPEG", quality=95),
    "image-low-information": encoded(flat_picture(), "PNG"),
    "image-gray-among-colour": encoded(picture(90).convert("L").convert("RGB"), "JPEG"),
    "image-animated-odd": encoded(picture(90), "GIF", save_all=True, append_images=[picture(91), picture(92)]),
}


@pytest.mark.parametrize("code", ODD)
def test_the_odd_one(tmp_path: Path, code: str) -> None:
    """Among 25 photos the odd one is named, and no other; below 20 pictures nobody is."""
    found = judged(tmp_path / "a", {**photos(), "odd": ODD[code]})
    assert (("odd", code, "warning") in of(found, code)) and {key for key, *_ in of(found, *OURS)} == {"odd"}
    assert of(judged(tmp_path / "b", {**photos(12), "odd": ODD[code]}), *OURS) == []


def test_colour_among_gray(tmp_path: Path) -> None:
    """The colour picture among RGB pictures that show gray is named."""
    files = {f"{seed}": encoded(picture(seed).convert("L").convert("RGB"), "JPEG") for seed in range(25)}
    assert of(judged(tmp_path, {**files, "odd": jpeg(90)}), *OURS) == [("odd", "image-colour-among-gray", "warning")]


def test_one_size_for_all(tmp_path: Path) -> None:
    """Where all pictures have one size, another is odd; turned, or a pixel less, it is not, and neither is it in a set of other sizes."""
    files = {f"{seed}": jpeg(seed, 80, 60) for seed in range(60)}
    for size, odd in (((96, 72), True), ((80, 80), True), ((60, 80), False), ((80, 59), False)):
        found = judged(tmp_path / f"{size}", {**files, "odd": jpeg(90, *size)})
        assert of(found, "image-size-odd") == ([("odd", "image-size-odd", "warning")] if odd else [])
        assert all(finding.message == f"{size[0]} x {size[1]} pixels; 60 of 61 have 80 x 60" for finding in found if finding.code == "image-size-odd")
    mixed = {name: jpeg(90, 80, 62 + seed) if seed < 3 else data for seed, (name, data) in enumerate(files.items())}
    assert of(judged(tmp_path / "mixed", {**mixed, "odd": jpeg(90, 96, 72)}), "image-size-odd") == []


def test_mixed_and_even_sets_are_silent(tmp_path: Path) -> None:
    """Photos alone, blurred pictures alone, and a set of three sizes, half gray, have no odd one."""
    blurred = {f"{seed}": encoded(picture(seed).filter(ImageFilter.GaussianBlur(4)), "JPEG") for seed in range(25)}
    mixed = {f"{seed}": jpeg(seed, 100 * (1 + seed % 3), 75 * (1 + seed % 3)) for seed in range(24)}
    mixed |= {f"g{seed}": encoded(picture(seed).convert("L").convert("RGB"), "JPEG") for seed in range(24)}
    for name, files in (("photos", photos()), ("blurred", blurred), ("mixed", mixed)):
        assert of(judged(tmp_path / name, files), *OURS) == []
