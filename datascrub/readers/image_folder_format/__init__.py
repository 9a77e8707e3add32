"""How a folder of pictures is walked, labelled, described by lists, tables, masks and annotations, and copied."""
