"""The guard of torch models: what it names, what it lets pass, and what a skipped batch leaves behind."""

from __future__ import annotations

import copy
import gc
import math
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402  # after the question whether torch is here

from datascrub.guards import FiniteGuard, NotFiniteError, NotFiniteWarning, Sighting  # noqa: E402  # likewise

KEYS = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
BAD = (float("nan"), float("inf"), float("-inf"))


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    torch.manual_seed(11)
    yield


def small() -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(4 * 36, 3))


def images() -> torch.Tensor:
    return torch.randn(4, 3, 8, 8)


class Odd(nn.Module):
    """Does what it is told to, between two layers."""

    def __init__(self, step) -> None:
        super().__init__()
        self.before, self.step, self.after = nn.Linear(5, 5), step, nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(self.step(self.before(x)))


class Step(nn.Module):
    def __init__(self, step) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step(x)


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_sample_is_named_by_its_key(bad: float, deferred: bool) -> None:
    """NaN, +Inf and -Inf in one sample: way input, its row, its key, its count; what follows from it is not told again."""
    model, batch = small(), images()
    batch[2, 1, 3, 4] = bad
    guard = FiniteGuard(model, deferred=deferred)
    with pytest.raises(NotFiniteError) as caught, guard.batch(KEYS):
        model(batch)
    seen = caught.value.sighting
    assert (seen.way, seen.rows, seen.keys, seen.bad, seen.size) == ("input", (2,), ("c.jpg",), 1, batch.numel())
    assert "c.jpg" in str(seen)
    assert guard.sightings == [seen]


def test_a_sound_training_is_left_alone() -> None:
    """Nothing is seen in a sound step; parameters end bit-equal to those of a training without a guard; removed hooks are gone."""
    plain = small()
    guarded = copy.deepcopy(plain)
    batch, labels = images(), torch.tensor([0, 1, 2, 0])
    for model, guard in ((plain, None), (guarded, FiniteGuard(guarded))):
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), labels)
            (guard.loss(loss) if guard else loss).backward()
            optimizer.step()
        if guard:
            assert guard.is_sound
            assert guard.sightings == []
            guard.remove()
    assert all(torch.equal(a, b) for a, b in zip(plain.state_dict().values(), guarded.state_dict().values(), strict=True))
    batch[0] = float("nan")
    guarded(batch)


def test_the_layer_where_it_began_is_named() -> None:
    """The logarithm of a negative number inside the model: its module, not the ones after it, and that its inputs were sound."""
    model = Odd(Step(lambda x: torch.log(x - 100)))
    guard = FiniteGuard(model, action="record", backward=False)
    model(torch.randn(4, 5))
    (seen,) = guard.sightings
    assert (seen.way, seen.module, seen.kind, seen.nan) == ("forward", "step", "Step", 20)
    assert "began here" in seen.because


def test_a_spoiled_weight_is_told_from_a_bad_sample() -> None:
    """A weight that is NaN already is named as the cause."""
    model = Odd(nn.Identity())
    with torch.no_grad():
        model.before.weight[0, 0] = float("nan")
    with pytest.raises(NotFiniteError, match="its own weight is not finite"), FiniteGuard(model):
        model(torch.randn(4, 5))


def test_square_root_of_a_zero_distance() -> None:
    """The forward pass is sound and the gradient is not: seen in the backward pass, at the output that feeds the root, for the sample alone."""
    model = nn.Sequential(nn.Linear(5, 5, bias=False))
    guard = FiniteGuard(model)
    batch = torch.randn(4, 5)
    batch[1] = 0  # its output is 0, and so is its distance to the target
    with pytest.raises(NotFiniteError) as caught, guard.batch(KEYS):
        distance = guard.loss(model(batch).square().sum(dim=1).sqrt())
        distance.mean().backward()
    seen = caught.value.sighting
    assert (seen.way, seen.module, seen.keys) == ("backward", "0", ("b.jpg",))


def test_a_loss_that_is_no_number() -> None:
    """A mean over no label at all: the outputs were sound, so the loss is to blame; detect_anomaly is silent here without a backward pass."""
    model = Odd(nn.ReLU())
    guard = FiniteGuard(model, action="warn")
    with pytest.warns(NotFiniteWarning, match="look at the labels"):
        guard.loss(nn.functional.cross_entropy(model(torch.randn(4, 5)), torch.full((4,), -100)))


def test_half_overflows() -> None:
    """Pixels 0..255 summed in float16: the module that overflows the type is named, with the type's largest number."""
    model = nn.Sequential(nn.Flatten(), Step(lambda x: x.sum(dim=1, keepdim=True, dtype=torch.float16)))
    guard = FiniteGuard(model, action="record")
    model(torch.full((4, 3, 16, 16), 200.0, dtype=torch.float16))
    (seen,) = guard.sightings
    assert (seen.module, seen.positive_inf) == ("1", 4)
    assert "overflows float16 (largest 65,504)" in seen.because


def test_big_is_relative_to_the_type() -> None:
    """1e10 is big in float32; in float16, which can't hold it, half of its largest number is."""
    for value, dtype, is_seen in (
        (2e10, torch.float32, True),
        (40_000, torch.float32, False),
        (40_000, torch.float16, True),
        (2e9, torch.bfloat16, False),
    ):
        model = nn.Sequential(nn.Identity())
        guard = FiniteGuard(model, action="record")
        model(torch.full((2, 3), value, dtype=dtype))
        assert [seen.big for seen in guard.sightings] == ([6] if is_seen else [])


def test_an_infinite_limit_lets_every_finite_number_pass() -> None:
    """With big=math.inf what is finite is no sighting, however near to the end of its type; infinity is one."""
    model = nn.Identity()
    guard = FiniteGuard(model, big=math.inf, action="record")
    model(torch.tensor([[65504.0, -65504.0]], dtype=torch.float16))
    assert guard.sightings == []
    model(torch.tensor([[torch.inf]], dtype=torch.float16))
    assert guard.sightings[0].positive_inf == 1


@pytest.mark.parametrize("deferred", [False, True])
def test_a_skipped_batch_leaves_no_trace(deferred: bool) -> None:
    """After a skipped batch, parameters, momentum and the averages of batch norm are what they were; the next batch trains."""
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    guard = FiniteGuard(model, action="skip", optimizer=optimizer, deferred=deferred)
    labels = torch.tensor([0, 1, 2, 0])

    def train(batch: torch.Tensor) -> None:
        with guard.batch(KEYS):
            optimizer.zero_grad()
            guard.loss(nn.functional.cross_entropy(model(batch), labels)).backward()
            optimizer.step()

    train(images())
    before, momentum = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    bad = images()
    bad[3, 0, 0, 0] = float("inf")
    train(bad)
    assert [seen.keys for seen in guard.sightings] == [("d.jpg",)]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    for kept, held in zip(momentum["state"].values(), optimizer.state_dict()["state"].values(), strict=True):
        assert torch.equal(kept["momentum_buffer"], held["momentum_buffer"])
    train(images())
    assert len(guard.sightings) == 1
    assert not torch.equal(model[0].weight, before["0.weight"])


def test_any_output_is_looked_at() -> None:
    """Tuples and dicts of tensors (an LSTM, a detector) are looked into; integers, empty tensors and None are passed over."""
    model = nn.Sequential(nn.LSTM(5, 3, batch_first=True))
    guard = FiniteGuard(model, action="record")
    model(torch.randn(4, 7, 5))
    assert guard.is_sound
    odd = Odd(nn.Identity())
    odd.after = Step(lambda x: {"scores": [x, x * float("inf")], "count": torch.tensor(3), "none": None, "empty": x[:0]})
    guard = FiniteGuard(odd, action="record")
    odd(torch.randn(4, 5))
    assert [seen.module for seen in guard.sightings] == ["after"]


def test_attention_masks_are_meant() -> None:
    """A mask of zeros and -Inf, as an input and inside, is no sighting; one that holds another number beside is."""
    model = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    guard = FiniteGuard(model, action="record")
    model(torch.randn(2, 5, 8), src_mask=nn.Transformer.generate_square_subsequent_mask(5))
    assert guard.is_sound
    model(torch.full((2, 5, 8), float("-inf")).index_fill(1, torch.tensor([0]), 1.0))
    assert not guard.is_sound


def test_deferred_tensors_that_are_gone() -> None:
    """Where a tensor was freed before it could be counted, the module is named all the same."""
    model = Odd(Step(lambda x: torch.log(x - 100)))
    guard = FiniteGuard(model, action="record", deferred=True)
    with torch.no_grad(), guard.batch(KEYS):
        model(torch.randn(4, 5))
    gc.collect()
    (seen,) = guard.sightings
    assert seen.module == "step"
    assert "not finite" in str(seen) or "NaN" in str(seen)


def test_wrong_use() -> None:
    """An unknown action, and skip without an optimizer, are errors at once."""
    with pytest.raises(ValueError, match="action is one of"):
        FiniteGuard(small(), action="explode")
    with pytest.raises(ValueError, match="needs the optimizer"):
        FiniteGuard(small(), action="skip")


def test_error_crosses_processes() -> None:
    """The error of a worker keeps its sighting when it is pickled."""
    import pickle

    seen = Sighting(0, "input", "", "Net", "float32", 10, 1, 0, 0, 0, 2.0, (1,), ("b",), "it came with the data")
    assert pickle.loads(pickle.dumps(NotFiniteError(seen))).sighting == seen
