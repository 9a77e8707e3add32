"""Imported once by the server that children are forked from: what every child of a scan needs. Starts no thread, opens no source."""

import os

# A matrix product of ours is small, and each worker has one core to itself: threads of the linear algebra would only fight for it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import duckdb  # noqa: F401  its import is a large part of a child's start

from datascrub.registry import readers, validators
from datascrub.spine import copy, listing, look, measure, survey  # noqa: F401  what children run

readers()
validators()
