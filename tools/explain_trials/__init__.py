"""Trials of explanations: networks with a change planted in a known module, gated and explained."""
