"""Trials of the gate: slowdowns of known size, measured under known conditions, judged by it and by other rules."""
