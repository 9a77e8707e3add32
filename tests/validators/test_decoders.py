"""decoders: which of the libraries that training uses read a picture, and whether they agree. Off unless asked for."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from datascrub import Config, scan
from datascrub.config import DataConfig, load
from datascrub.errors import MissingPackageError, UsageError
from datascrub.model import DECODER, Column, Field, Kind, Role
from datascrub.validators import decoders
from datascrub.validators.decoders import Decoders
from tests.media.drawn import encoded, jpeg, picture, png

HERE = tuple(name for name, module in (("opencv", "cv2"), ("tensorflow", "tensorflow")) if importlib.util.find_spec(module) is not None)


def measured(values: list[bytes | None], *names: str) -> Mapping[str, np.ndarray]:
    """What the validator measures of these bytes, asking these decoders."""
    field = Field("image", Role.IMAGE, Kind.ENCODED, declared=tuple(DECODER + name for name in names))
    assert Decoders().applies(field)
    return Decoders().measure(Column(field, values))


def refusing(value: bytes) -> np.ndarray:
    """A decoder of JPEG alone."""
    if not value.startswith(b"\xff\xd8"):
        raise ValueError("no JPEG")
    return np.asarray(Image.open(io.BytesIO(value)).convert("RGB"))


def turning(value: bytes) -> np.ndarray:
    """A decoder that shows a picture in negative."""
    return np.asarray(255 - refusing(value))


def test_off_unless_asked() -> None:
    """Without a word in the plan nothing is asked."""
    assert not Decoders().applies(Field("image", Role.IMAGE, Kind.ENCODED))


def test_one_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder that does not read a picture is named with what it says; what nobody reads, and what is no picture, is left to others."""
    monkeypatch.setattr(decoders, "DECODE", {"pillow": decoders.DECODE["pillow"], "opencv": refusing})
    made = measured([jpeg(1), png(2), None, b"<html></html>", jpeg(3)[:400]], "pillow", "opencv")
    assert made["decoder_refused"].tolist()[:4] == [None, "opencv: no JPEG", None, None]
    assert made["decoder_accepted"].tolist() == [2, 1, None, None, 0]


def test_they_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another size or other pixels are told with the pair; two encodings of libjpeg's rounding are not."""
    monkeypatch.setattr(decoders, "DECODE", {"pillow": refusing, "opencv": turning, "tensorflow": lambda value: refusing(value).transpose(1, 0, 2)})
    assert measured([jpeg(1)], "pillow", "opencv")["decoder_apart"][0] > 50
    sizes = measured([jpeg(1)], "pillow", "tensorflow")["decoder_sizes"]
    assert sizes.tolist() == ["pillow 160 x 120, tensorflow 120 x 160"]
    assert measured([jpeg(1)], "pillow")["decoder_sizes"].tolist() == [None]


@pytest.mark.parametrize("name", HERE)
def test_healthy_pictures(name: str) -> None:
    """JPEG and PNG, colour and gray, are read by each decoder that is installed, and all agree."""
    gray = encoded(picture(5).convert("L"), "JPEG")
    made = measured([jpeg(1), png(2), gray, encoded(picture(7), "JPEG", progressive=True)], "pillow", name)
    assert made["decoder_refused"].tolist() == [None] * 4 and made["decoder_sizes"].tolist() == [None] * 4
    assert max(made["decoder_apart"].tolist()) < Decoders().most_apart


@pytest.mark.parametrize("name", HERE)
def test_what_it_does_not_read(name: str) -> None:
    """A format that a library does not know is a refusal in one line."""
    value = encoded(picture(3), "TIFF" if name == "tensorflow" else "PCX")
    said = measured([value], "pillow", name)["decoder_refused"][0]
    assert said.startswith(f"{name}: ") and "\n" not in said


def test_in_a_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for in the configuration, pillow reads all healthy pictures; a decoder that is not there is refused before work starts."""
    for number in range(3):
        (tmp_path / "set").mkdir(exist_ok=True)
        (tmp_path / "set" / f"{number}.jpg").write_bytes(jpeg(number))
    run = scan(tmp_path / "set", config=load(None, {"data.decoders": "pillow"}), out=tmp_path / "run", workers=1)
    assert [f.code for f in run.findings()] == [] and run.facts.filter("image.decoder_accepted = 1").count("*").fetchall() == [(3,)]
    if importlib.util.find_spec("cv2") is None:
        with pytest.raises(MissingPackageError, match="opencv"):
            scan(tmp_path / "set", config=Config(DataConfig(decoders=("opencv",))), out=tmp_path / "other")
    with pytest.raises(UsageError, match="one of"):
        load(None, {"data.decoders": "pilow"})
