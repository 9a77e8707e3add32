"""How TFRecord files are found, framed, streamed and copied."""
