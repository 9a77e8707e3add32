"""The linter of Caffe's definitions: each fault is named at its line, and sound definitions are left in peace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datascrub.errors import UsageError
from datascrub.netlint import lint, lint_file
from datascrub.netlint.text_format import NotTextFormatError, parse

SOLVER = 'net: "train.prototxt"\nbase_lr: 0.01\nmomentum: 0.9\nlr_policy: "step"\ngamma: 0.1\nstepsize: 100000\nmax_iter: 450000\n'
NET = """
name: "Small"  # a comment { that : means nothing
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { scale: 0.00390625 } data_param { source: "a" 'b' batch_size: 64 backend: LMDB } }
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } bias_filler { type: "constant" } }
}
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool1" top: "ip" inner_product_param <
  num_output: 10; weight_filler: { type: "gaussian" std: 0.01 }, bias_filler { type: "constant" } > }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" loss_weight: 1 }
"""


def codes(text: str, classes: int | None = None) -> list[tuple[int, str, str]]:
    return [(remark.line, remark.severity, remark.code) for remark in lint(text, classes)]


@pytest.mark.parametrize("text", [SOLVER, NET])
def test_sound_definitions(text: str) -> None:
    """A solver and a network as Caffe's own examples write them draw no remark."""
    assert codes(text, 10) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ('"step"', '"poly"', ("warning", "policy-incomplete")),
        ("stepsize: 100000", "", ("error", "policy-incomplete")),
        ("gamma: 0.1", "", ("warning", "policy-incomplete")),
        ('lr_policy: "step"', "", ("error", "policy-unknown")),
        ('"step"', '"stepp"', ("error", "policy-unknown")),
        ("gamma: 0.1", "gamma: 10", ("warning", "rate-grows")),
        ("base_lr: 0.01", "", ("error", "rate-not-positive")),
        ("base_lr: 0.01", "base_lr: 10", ("warning", "rate-large")),
        ("momentum: 0.9", "momentum: 1.9", ("error", "momentum-not-below-one")),
        ("momentum: 0.9", "weight_decay: -1", ("error", "decay-negative")),
        ("momentum: 0.9", "clip_gradients: 0", ("error", "clip-zero")),
        ("momentum: 0.9", "iter_size: 0", ("error", "iter-size-zero")),
    ],
)
def test_solver(old: str, new: str, found: tuple[str, str]) -> None:
    """One fault in a sound solver draws one remark, its own."""
    assert [each[1:] for each in codes(SOLVER.replace(old, new))] == [found]


def test_poly_without_max_iter_is_nan() -> None:
    """poly divides by max_iter: without it the learning rate is NaN, and the remark says so at the policy's line."""
    (remark,) = lint('base_lr: 0.1\nlr_policy: "poly"\npower: 0.9\n')
    assert (remark.line, remark.severity) == (2, "error")
    assert "NaN" in remark.reason


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("kernel_size: 2 stride: 2", "kernel_size: 2 stride: 3", (10, "error", "stride-over-kernel")),
        ("kernel_size: 2 stride: 2", "kernel_h: 2 kernel_w: 4 stride: 3", (10, "error", "stride-over-kernel")),
        ('bias_filler { type: "constant" } }\n}', "}\n}", (6, "warning", "bias-filler-missing")),
        ('weight_filler { type: "xavier" }', "", (6, "warning", "weight-filler-missing")),
        ("std: 0.01", "", (12, "warning", "filler-wide")),
        ("SoftmaxWithLoss", "InfogainLoss", (14, "error", "infogain-matrix-missing")),
        ("loss_weight: 1", "loss_weight: 1 loss_weight: 2", (14, "error", "loss-weight-count")),
        ("loss_weight: 1", "loss_weight: -1", (14, "error", "loss-weight-odd")),
        ("loss_weight: 1", "loss_weight: 1e6", (14, "warning", "loss-weight-odd")),
        ('bottom: "label"', 'bottom: "labels"', (14, "error", "bottom-unknown")),
        ('bottom: "label"', 'bottom: "ip"', (14, "error", "label-is-score")),
        ("num_output: 10", "num_output: 1", (14, "error", "outputs-too-few")),
        ("num_output: 10", "num_output: 9", (14, "error", "outputs-not-classes")),
        ("num_output: 10", "num_output: 11", (14, "warning", "outputs-not-classes")),
        ('type: "ReLU"', 'type: "Softmax"', (14, "warning", "softmax-twice")),
        ('type: "ReLU"', 'type: "Power" power_param { power: 0.5 }', (13, "warning", "power-without-shift")),
        ('type: "ReLU"', 'type: "Log"', (13, "warning", "log-without-shift")),
        ('type: "ReLU"', 'type: "Dropout" dropout_param { dropout_ratio: 1 }', (13, "error", "dropout-ratio")),
        ("lr_mult: 2", "lr_mult: -2", (7, "error", "rate-negative")),
        ("scale: 0.00390625", "mirror: true", (3, "warning", "input-unscaled")),
    ],
)
def test_net(old: str, new: str, found: tuple[int, str, str]) -> None:
    """One fault in a sound network is named at its line."""
    assert found in codes(NET.replace(old, new), 10)


def test_hdf5_data_is_not_transformed() -> None:
    """HDF5Data refuses transform_param."""
    assert (1, "error", "hdf5-transformed") in codes('layer { name: "d" type: "HDF5Data" top: "d" transform_param { scale: 2 } }')


def test_a_net_for_use_needs_no_fillers() -> None:
    """Where nothing is trained, weights come from a file, and no filler is missed."""
    text = 'input: "x" layer { name: "c" type: "Convolution" bottom: "x" top: "c" convolution_param { num_output: 2 kernel_size: 3 } }'
    assert codes(text) == []


def test_first_layer_format() -> None:
    """The old form with capitals and enumerations is understood."""
    text = 'input: "data"\nlayers { name: "p" type: POOLING bottom: "data" top: "p" pooling_param { kernel_size: 2 stride: 4 } }'
    assert codes(text) == [(2, "error", "stride-over-kernel")]


@pytest.mark.parametrize("text", ["layer {", "layer } {", "a: b c", 'a: "b', "{}", "a: [1, 2", "a:", "<?xml?>", "\x00\xff", "a {" * 100 + "}" * 100])
def test_what_is_no_text_format(text: str) -> None:
    """Broken text is refused with its line."""
    with pytest.raises(NotTextFormatError, match="line"):
        lint(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab1.:{}<>[]\"'#\n\\,; -", max_size=60))
def test_any_text_ends(text: str) -> None:
    """Whatever the text, parsing ends with a message or with NotTextFormatError."""
    try:
        parse(text)
    except NotTextFormatError:
        return


def test_files(tmp_path: Path) -> None:
    """A missing file and one that is no prototxt are errors of use."""
    with pytest.raises(UsageError, match="can't read"):
        lint_file(tmp_path / "gone.prototxt")
    (tmp_path / "x").write_bytes(b"\xff\xd8\xff\xe0{{{")
    with pytest.raises(UsageError, match="no prototxt"):
        lint_file(tmp_path / "x")
