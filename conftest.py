"""Shared by `tests/` and `benchmarks/`: the plugin that tests plugins."""

pytest_plugins = ["pytester"]
