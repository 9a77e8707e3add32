"""datascrub finds the samples that break training, before training."""

__version__ = "0.1.0"
