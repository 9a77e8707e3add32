"""Engines: map a function over shards. An engine knows only a function and its tasks."""
