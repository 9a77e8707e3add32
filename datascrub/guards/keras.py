"""The guard of a Keras model on TensorFlow: a callback that looks at every input, output, loss and gradient inside the compiled step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import keras
import tensorflow as tf

from datascrub.guards.sighting import ACTIONS, BIG_SHARE, NotFiniteError, NotFiniteWarning, Sighting

_BECAUSE = {
    "input": "it came with the data",
    "forward": "what came before it was sound: it began here, or in a parameter",
    "loss": "the outputs of the model were sound: look at the labels and the loss",
    "backward": "the forward pass was sound: look at what follows this output",
}


class KerasFiniteGuard(keras.callbacks.Callback):  # type: ignore[misc]  # keras has no types
    """Names the layer, and the rows of the batch, where a number of a training first stops being finite or grows too big.

        guard = KerasFiniteGuard(action="record")
        model.fit(data, callbacks=[guard])
        print(*guard.sightings, sep="\\n")

    big, forward, backward: as for FiniteGuard of torch.
    action: raise (NotFiniteError), warn (NotFiniteWarning), record (in `sightings` alone), or skip: the optimizer's step is not taken, and variables
        that are not trained (the averages of batch normalisation) are put back to what they were before the batch.
    keys: from the number of a batch in its epoch to the keys of its samples, in their order, where the order of the data is known.

    The looks are part of the compiled step; Python reads one number a batch. With steps_per_execution above 1 only the first sighting of each
    execution is told, and skip is refused. The layers get their own `call` back when the training ends.
    """

    def __init__(
        self,
        big: float = 1e10,
        forward: bool = True,
        backward: bool = True,
        action: str = "raise",
        *,
        keys: Callable[[int], Sequence[Hashable]] | None = None,
    ) -> None:
        super().__init__()
        if action not in ACTIONS:
            raise ValueError(f"action is one of {', '.join(ACTIONS)}, not {action!r}")
        self.sightings: list[Sighting] = []
        self._big, self._forward, self._backward, self._action, self._keys = big, forward, backward, action, keys
        self._places: list[tuple[str, str, str]] = []
        self._undo: list[Callable[[], None]] = []
        self._step, self._saved = -1, list[Any]()

    # -- what Keras calls ---------------------------------------------------------------------------------------------------------

    def on_train_begin(self, logs: Any = None) -> None:
        if self._action == "skip" and self.model.steps_per_execution > 1:
            raise ValueError("action='skip' needs steps_per_execution=1: it puts back what one batch changed")
        self._first = tf.Variable(-1, dtype=tf.int32, trainable=False)
        self._counts = tf.Variable(tf.zeros([5], tf.int64), trainable=False)
        self._largest = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        self._rows = tf.Variable(tf.zeros([0], tf.bool), shape=[None], trainable=False)
        self._wrap_model()
        for layer in self.model._flatten_layers(include_self=False):  # Keras names no public walk over nested layers
            self._wrap(layer, layer.name, type(layer).__name__)
        if self._action == "skip":
            self._hold(self.model.optimizer)
        self.model.make_train_function(force=True)  # one that was traced before has no looks in it

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._step += 1
        self._first.assign(-1)
        if self._action == "skip":
            self._saved = [(variable, variable.numpy()) for variable in self.model.non_trainable_variables]

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        place = int(self._first.numpy())
        if place < 0:
            return
        sighting = self._sighting(place, self._keys(batch) if self._keys is not None else ())
        self.sightings.append(sighting)
        if self._action == "raise":
            self._release()
            raise NotFiniteError(sighting)
        if self._action == "warn":
            warnings.warn(str(sighting), NotFiniteWarning, stacklevel=2)
        if self._action == "skip":
            for variable, before in self._saved:
                variable.assign(before)

    def on_train_end(self, logs: Any = None) -> None:
        self._release()

    def _release(self) -> None:
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        self.model.make_train_function(force=True)

    # -- looks in the step --------------------------------------------------------------------------------------------------------

    def _wrap_model(self) -> None:
        """Look at what the model is given, and at its loss."""
        model, call, loss = self.model, self.model.call, self.model.compute_loss
        given = self._place("input", "", type(model).__name__)
        lost, back = self._place("loss", "", "loss"), self._place("backward", "", "loss")

        def looked_at(*args: Any, **kwargs: Any) -> Any:
            if self._forward:
                tf.nest.map_structure(lambda value: self._look(value, given), args)
            return call(*args, **kwargs)

        def looked_at_loss(*args: Any, **kwargs: Any) -> Any:
            value = loss(*args, **kwargs)
            return value if value is None else self._watch(value, lost, back)

        self._replace(model, "call", looked_at)
        self._replace(model, "compute_loss", looked_at_loss)

    def _wrap(self, layer: Any, name: str, kind: str) -> None:
        call = layer.call
        forward, backward = self._place("forward", name, kind), self._place("backward", name, kind)

        def looked_at(*args: Any, **kwargs: Any) -> Any:
            return tf.nest.map_structure(lambda value: self._watch(value, forward, backward), call(*args, **kwargs))

        self._replace(layer, "call", looked_at)

    def _hold(self, optimizer: Any) -> None:
        """Take the optimizer's step only where nothing was seen."""
        optimizer.build(self.model.trainable_variables)  # its slots can't be made inside a branch
        apply = optimizer.apply

        def held(gradients: Any, variables: Any = None) -> Any:
            tf.cond(self._first < 0, lambda: (apply(gradients, variables), tf.constant(0))[1], lambda: tf.constant(0))

        self._replace(optimizer, "apply", held)

    def _replace(self, owner: Any, name: str, made: Callable[..., Any]) -> None:
        object.__setattr__(owner, name, made)
        self._undo.append(lambda: object.__delattr__(owner, name))

    def _place(self, way: str, name: str, kind: str) -> int:
        self._places.append((way, name, kind))
        return len(self._places) - 1

    def _watch(self, value: Any, forward: int, backward: int) -> Any:
        """The value itself, looked at on its way forward, and its gradient on the way back."""
        if not tf.is_tensor(value) or not value.dtype.is_floating:
            return value
        if self._forward:
            self._look(value, forward)
        if not self._backward:
            return value

        @tf.custom_gradient  # type: ignore[untyped-decorator]  # tensorflow has no types
        def passed(x: Any) -> Any:
            def back(gradient: Any) -> Any:
                self._look(gradient, backward)
                return gradient

            return tf.identity(x), back

        return passed(value)

    def _look(self, value: Any, place: int) -> None:
        if not tf.is_tensor(value) or not value.dtype.is_floating:
            return
        limit = min(self._big, BIG_SHARE * float(value.dtype.max))
        # NaN and Inf times zero are NaN, and a sum loses none; a maximum alone may lose NaN, as max pooling does.
        extreme = tf.reduce_max(tf.abs(value), axis=None) + tf.reduce_sum(value * tf.zeros([], value.dtype))
        is_sound = (tf.math.is_finite(extreme) & (extreme <= tf.cast(limit, value.dtype))) | (tf.size(value) == 0)
        tf.cond(is_sound | (self._first >= 0), lambda: tf.constant(0), lambda: self._keep(value, limit, place))

    def _keep(self, value: Any, limit: float, place: int) -> Any:
        wide = tf.cast(value, tf.float64)
        finite, magnitude = tf.math.is_finite(wide), tf.abs(wide)
        infinite = tf.math.is_inf(wide)
        found = [tf.math.is_nan(wide), infinite & (wide > 0), infinite & (wide < 0), finite & (magnitude > limit), tf.ones_like(finite)]
        self._first.assign(place)
        self._counts.assign(tf.stack([tf.math.count_nonzero(each) for each in found]))
        self._largest.assign(tf.reduce_max(tf.where(finite, magnitude, tf.zeros_like(wide))))
        wrong = ~finite | (magnitude > limit)  # TensorFlow rewrites not (x <= y) as x > y, which is false for NaN
        rank = len(value.shape)
        self._rows.assign(tf.reduce_any(tf.reshape(wrong, [tf.shape(wrong)[0], -1]), axis=1) if rank else tf.zeros([0], tf.bool))
        return tf.constant(0)

    def _sighting(self, place: int, keys: Sequence[Hashable]) -> Sighting:
        way, name, kind = self._places[place]
        nan, positive, negative, big, size = (int(each) for each in self._counts.numpy())
        rows = tuple(tf.where(self._rows)[:, 0].numpy().tolist())
        dtype = str(keras.backend.floatx()) if way in ("input", "loss") else str(self.model.compute_dtype)
        named = tuple(keys[row] for row in rows if row < len(keys))
        largest = float(self._largest)
        return Sighting(self._step, way, name, kind, dtype, size, nan, positive, negative, big, largest, rows, named, because=_BECAUSE[way])
