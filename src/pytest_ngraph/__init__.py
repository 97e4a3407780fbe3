"""Benchmarks of neural-graph compilers as pytest tests."""
