"""Caffe's network definitions: layer by layer, and how they hang together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from datascrub.netlint.remark import Remark
from datascrub.netlint.text_format import Message

# Names of the first layer format (layers { type: CONVOLUTION }) where they differ from today's by more than case and underscores.
_OLD = {"softmaxloss": "SoftmaxWithLoss", "bnll": "BNLL", "lrn": "LRN", "relu": "ReLU", "hdf5data": "HDF5Data"}
_TYPES = (
    "Convolution", "Deconvolution", "InnerProduct", "Pooling", "InfogainLoss", "SoftmaxWithLoss", "SigmoidCrossEntropyLoss", "EuclideanLoss",
    "HingeLoss", "MultinomialLogisticLoss", "Softmax", "Dropout", "Power", "Log", "Data", "ImageData", "HDF5Data", "MemoryData", "WindowData",
)  # fmt: skip
_KNOWN = _OLD | {name.lower(): name for name in _TYPES}
_LEARNED = {"Convolution": "convolution_param", "Deconvolution": "convolution_param", "InnerProduct": "inner_product_param"}
_BY_CLASS = ("SoftmaxWithLoss", "MultinomialLogisticLoss", "InfogainLoss", "HingeLoss")
_HEAVY_LOSS = 1000.0


@dataclass(frozen=True)
class _Layer:
    message: Message
    type: str
    name: str
    bottoms: list[str]
    tops: list[str]

    def remark(self, at: str, severity: str, code: str, reason: str, cure: str) -> Remark:
        return Remark(self.message.line_of(at), severity, code, f"{self.name} ({self.type}): {reason}", cure)


def net_remarks(net: Message, classes: int | None) -> Iterator[Remark]:
    """What is wrong with a network."""
    layers = [_layer(message) for name in ("layer", "layers") for message in net.messages(name)]
    if not layers:
        yield Remark(net.line, "error", "net-empty", "neither a layer nor anything of a solver stands here", "give a network or a solver definition")
    is_trained = any("Loss" in layer.type for layer in layers)  # a net for use gets its weights from a file
    for layer in layers:
        for check in _CHECKS:
            if is_trained or check is not _fillers:
                yield from check(layer)
    yield from _wiring(net, layers)
    yield from _labels(layers, classes)


def _layer(message: Message) -> _Layer:
    kind = message.text("type")
    return _Layer(
        message,
        _KNOWN.get(kind.replace("_", "").lower(), kind),
        message.text("name", "a layer without name"),
        message.texts("bottom"),
        message.texts("top"),
    )


def _pooling(layer: _Layer) -> Iterator[Remark]:
    param = layer.message.message("pooling_param")
    if layer.type != "Pooling" or param.text("global_pooling") == "true":
        return
    for axis in ("", "_h", "_w"):
        kernel = param.number(f"kernel{axis or '_size'}", param.number("kernel_size"))
        stride = param.number(f"stride{axis}", param.number("stride", 1.0))
        if kernel is not None and stride is not None and stride > kernel:
            reason = f"stride {stride:g} is larger than the kernel {kernel:g}: pixels between are lost, and a window past the border averages nothing"
            yield Remark(
                param.line_of(f"stride{axis}"), "error", "stride-over-kernel", f"{layer.name} (Pooling): {reason}", "a stride of at most the kernel"
            )
            return


def _fillers(layer: _Layer) -> Iterator[Remark]:
    if layer.type not in _LEARNED:
        return
    param = layer.message.message(_LEARNED[layer.type])
    if "weight_filler" not in param.fields:
        reason = "no weight_filler: all weights start at 0, and all outputs stay equal"
        yield layer.remark("type", "warning", "weight-filler-missing", reason, 'weight_filler { type: "xavier" }, or load trained weights')
    if param.text("bias_term", "true") != "false" and "bias_filler" not in param.fields:
        reason = "no bias_filler: the bias starts as the build of Caffe leaves it (0 in BVLC Caffe)"
        yield layer.remark("type", "warning", "bias-filler-missing", reason, 'bias_filler { type: "constant" value: 0 }')
    filler = param.message("weight_filler")
    deviation = filler.number("std", 1.0)
    if filler.text("type") == "gaussian" and deviation is not None and deviation >= 1:
        reason = f"a gaussian weight_filler with std {deviation:g} (1 where none is given) makes activations grow from layer to layer"
        yield Remark(filler.line, "warning", "filler-wide", f"{layer.name} ({layer.type}): {reason}", "std: 0.01, or xavier or msra")


def _infogain(layer: _Layer) -> Iterator[Remark]:
    if layer.type == "InfogainLoss" and len(layer.bottoms) < 3 and not layer.message.message("infogain_loss_param").text("source"):
        cure = "infogain_loss_param { source: … }, or a third bottom"
        yield layer.remark("type", "error", "infogain-matrix-missing", "neither a source of its matrix nor a third bottom", cure)


def _loss_weight(layer: _Layer) -> Iterator[Remark]:
    weights = [scalar.number() for scalar in layer.message.scalars("loss_weight")]
    if weights and len(weights) != len(layer.tops):
        reason = f"{len(weights)} loss weights for {len(layer.tops)} tops"
        yield layer.remark("loss_weight", "error", "loss-weight-count", reason, "one for each top, or none")
    for weight in weights:
        if weight is None or not 0 <= weight <= _HEAVY_LOSS:
            reason = f"loss_weight {'is no number' if weight is None else f'{weight:g}'}: it scales every gradient"
            yield layer.remark("loss_weight", "warning" if weight and weight > 0 else "error", "loss-weight-odd", reason, "a positive number near 1")


def _domain(layer: _Layer) -> Iterator[Remark]:
    """Steps that have no value, or no slope, at numbers that data hold."""
    param = layer.message.message(f"{layer.type.lower()}_param")
    if layer.type == "Power":
        power, shift = param.number("power", 1.0) or 0.0, param.number("shift", 0.0)
        if power != int(power) and not shift:
            reason = f"the power {power:g} of a negative number is NaN, and its slope at 0 infinite"
            yield layer.remark("type", "warning", "power-without-shift", reason, "a small positive shift, and inputs that are never negative")
        elif power < 0 and not shift:
            yield layer.remark("type", "warning", "power-without-shift", f"the power {power:g} of 0 is infinite", "a small positive shift")
    if layer.type == "Log" and not param.number("shift", 0.0):
        yield layer.remark("type", "warning", "log-without-shift", "the logarithm of 0 is infinite", "a small positive shift")
    ratio = param.number("dropout_ratio", 0.5)
    if layer.type == "Dropout" and (ratio is None or not 0 < ratio < 1):
        yield layer.remark("type", "error", "dropout-ratio", "what is kept is divided by 1 - dropout_ratio", "a ratio between 0 and 1")
    for each in layer.message.messages("param"):
        rate = each.number("lr_mult", 1.0)
        if rate is not None and rate < 0:
            yield Remark(each.line_of("lr_mult"), "error", "rate-negative", f"{layer.name}: lr_mult {rate:g} climbs the loss", "0 or more")


def _input(layer: _Layer) -> Iterator[Remark]:
    transform = layer.message.message("transform_param")
    if layer.type == "HDF5Data" and transform.fields:
        reason = "HDF5Data refuses transform_param (the numbers go in as they are)"
        yield layer.remark("transform_param", "error", "hdf5-transformed", reason, "scale and subtract before the file is written")
    is_scaled = any(name in transform.fields for name in ("scale", "mean_file", "mean_value"))
    if (
        layer.type in ("Data", "ImageData")
        and not is_scaled
        and "scale" not in layer.message.message(f"{'image_' if layer.type == 'ImageData' else ''}data_param").fields
    ):
        reason = "neither scale nor mean: pixels go in as 0..255, where initial weights expect about -1..1"
        yield layer.remark("type", "warning", "input-unscaled", reason, "transform_param { scale: 0.00390625 } or a mean")


_CHECKS: tuple[Callable[[_Layer], Iterator[Remark]], ...] = (_pooling, _fillers, _infogain, _loss_weight, _domain, _input)


def _wiring(net: Message, layers: list[_Layer]) -> Iterator[Remark]:
    known = set(net.texts("input"))
    givers: dict[str, _Layer] = {}
    for layer in layers:
        for place, bottom in enumerate(layer.bottoms):
            if bottom not in known:
                yield Remark(
                    layer.message.scalars("bottom")[place].line,
                    "error",
                    "bottom-unknown",
                    f"{layer.name} ({layer.type}): no layer before it gives {bottom}",
                    "name a top of an earlier layer",
                )
        giver = givers.get(layer.bottoms[0]) if layer.bottoms else None
        if layer.type == "SoftmaxWithLoss" and giver is not None and giver.type == "Softmax":
            reason = f"its input {layer.bottoms[0]} is a softmax already: gradients all but vanish"
            yield layer.remark("bottom", "warning", "softmax-twice", reason, "feed the scores before the softmax")
        if layer.type in ("MultinomialLogisticLoss", "InfogainLoss") and giver is not None and giver.type in _LEARNED:
            severity = "warning" if layer.type == "InfogainLoss" else "error"  # newer versions of InfogainLoss hold a softmax of their own
            yield layer.remark(
                "bottom", severity, "loss-without-softmax", f"takes the logarithm of scores ({giver.name}), not of shares", "a Softmax between"
            )
        if len(layer.bottoms) > 1 and "Loss" in layer.type and layer.bottoms[0] == layer.bottoms[1]:
            yield layer.remark(
                "bottom", "error", "label-is-score", f"{layer.bottoms[0]} is both prediction and label", "the label's blob as second bottom"
            )
        known.update(layer.tops)
        givers.update(dict.fromkeys(layer.tops, layer))


def _labels(layers: list[_Layer], classes: int | None) -> Iterator[Remark]:
    """The outputs that a loss by class compares with labels."""
    outputs: dict[str, float] = {}
    for layer in layers:
        given = layer.message.message(_LEARNED.get(layer.type, "")).number("num_output")
        if given is None and layer.bottoms and len(layer.bottoms) == len(layer.tops) == 1:
            given = outputs.get(layer.bottoms[0])  # softmax, ReLU, dropout … keep their number
        if given is not None and layer.tops:
            outputs[layer.tops[0]] = given
        count = outputs.get(layer.bottoms[0]) if layer.type in _BY_CLASS and layer.bottoms else None
        if count is None:
            continue
        if count < 2:
            reason = "one output: a softmax over it is always 1, and the loss of any other label reads past its end"
            yield layer.remark("bottom", "error", "outputs-too-few", reason, "as many outputs as classes, or SigmoidCrossEntropyLoss")
        elif classes is not None and count != classes:
            severity = "error" if count < classes else "warning"
            reason = f"{count:g} outputs for {classes} classes" + (": a label above them reads past the end" if count < classes else "")
            yield layer.remark("bottom", severity, "outputs-not-classes", reason, f"num_output: {classes} in the layer that gives {layer.bottoms[0]}")
