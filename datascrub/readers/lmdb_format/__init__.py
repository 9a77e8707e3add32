"""How the pages of an LMDB are looked at from outside, its databases opened, and copied."""
