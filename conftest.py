"""Shared by `tests/` and `benchmarks/`: nothing but the plugin that tests plugins."""

pytest_plugins = ["pytester"]
