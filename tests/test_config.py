"""The configuration: typed, and a wrong key names its neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from datascrub.config import Config, DataConfig, from_table, load
from datascrub.errors import UsageError
from datascrub.model import Role, Severity


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({"data.classes": "10"}, DataConfig(classes=10)),
        ({"data.classes": "cat,dog"}, DataConfig(classes=("cat", "dog"))),
        ({"data.classes": '["cat", "dog"]'}, DataConfig(classes=("cat", "dog"))),
        ({"data.ignore_labels": "255"}, DataConfig(ignore_labels=(255,))),
        ({"data.ignore_labels": "-1, 255"}, DataConfig(ignore_labels=(-1, 255))),
        ({"data.precision": "fp16"}, DataConfig(precision="float16")),
        ({"data.roles.x": "label"}, DataConfig(roles={"x": Role.LABEL})),
    ],
)
def test_flags(given: dict[str, Any], held: DataConfig) -> None:
    """What a flag says is read as it would stand in the file, lists also by commas."""
    assert load(None, given).data == held


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"data": {"clases": 10}}, "did you mean classes"),
        ({"dat": {}}, "did you mean data"),
        ({"data": {"classes": 0}}, "at least 1"),
        ({"data": {"classes": True}}, "a number, or a list"),
        ({"data": {"task": "classify"}}, "one of classification"),
        ({"data": {"ignore_labels": ["x"]}}, "list of integers"),
        ({"data": 3}, "is a table"),
        ({"rules": {"image-blank": {"severity": "fatal"}}}, "one of error"),
        ({"limits": {"max_pixels": -1}}, "positive"),
    ],
)
def test_mistakes(table: dict[str, Any], says: str) -> None:
    """A mistake is an error of use that says what is expected."""
    with pytest.raises(UsageError, match=says):
        from_table(table)


def test_a_flag_under_a_value_is_refused() -> None:
    """A key can't be a value and a table."""
    with pytest.raises(UsageError, match="no table"):
        load(None, {"data": "3", "data.classes": "4"})


def test_what_is_not_said_stays(tmp_path: Path) -> None:
    """Over a base, a file and flags change what they name; rules of the base stay where there is no file."""
    base = from_table({"data": {"classes": 7, "task": "classification"}, "rules": {"image-blank": {"severity": "error"}}})
    flagged = load(None, {"data.classes": "9"}, base)
    assert (flagged.data.classes, flagged.data.task) == (9, "classification")
    assert flagged.rules["image-blank"].severity is Severity.ERROR
    (tmp_path / "datascrub.toml").write_text("[data]\nclasses = 5\n")
    filed = load(tmp_path / "datascrub.toml", {}, base)
    assert (filed.data.classes, filed.data.task, dict(filed.rules)) == (5, "classification", {})
    assert load(None, {}, None) == Config()
