"""Trials of bisecting: generated repositories with a slowdown at a known commit, bisected by us and by `asv find`."""
