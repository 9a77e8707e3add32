"""A torch data set, or a sampler, without the samples in quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from datascrub.handover.kept import RunLike, kept_of, same_length


class CleanDataset(Dataset[Any]):
    """The samples of a data set that a run keeps, in their order.

    keys: of all samples of `dataset`, in its order, as the run writes them. Without keys its order must be that of the source; an ImageFolder of
    torchvision, which sorts in its own way, tells its keys itself.
    Raises UsageError where run and data set do not fit together.
    """

    def __init__(self, dataset: Any, run: RunLike, keys: Sequence[str] | None = None) -> None:
        self.dataset = dataset
        self.positions = _positions(dataset, run, keys)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, position: int) -> Any:
        return self.dataset[int(self.positions[position])]


class CleanSampler(Sampler[int]):
    """Positions in a data set of the samples that a run keeps, in their order or shuffled anew each epoch.

    keys: as for CleanDataset. seed: of the shuffling; set_epoch makes an epoch repeatable, as with torch's DistributedSampler.
    """

    def __init__(self, dataset: Any, run: RunLike, *, shuffle: bool = False, seed: int = 0, keys: Sequence[str] | None = None) -> None:
        self.positions, self._shuffle, self._seed, self._epoch = _positions(dataset, run, keys), shuffle, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Shuffle the next pass as that of this epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[int]:
        order = self.positions
        if self._shuffle:
            generator = torch.Generator().manual_seed(self._seed + self._epoch)
            order = order[torch.randperm(len(order), generator=generator).numpy()]
            self._epoch += 1
        yield from order.tolist()


def _positions(dataset: Any, run: RunLike, keys: Sequence[str] | None) -> np.ndarray:
    kept = kept_of(run)
    if keys is None and hasattr(dataset, "samples") and hasattr(dataset, "root"):
        keys = [Path(path).relative_to(dataset.root).as_posix() for path, *_ in dataset.samples]
    if keys is not None:
        return kept.positions_among(keys)
    same_length(kept, len(dataset))
    return kept.positions
