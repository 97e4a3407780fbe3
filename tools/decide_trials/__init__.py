"""Trials of advice: sweeps and races, and the file that keeps them."""
