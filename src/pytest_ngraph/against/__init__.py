"""What a run is compared with: a base measured beside it, or a stored baseline."""
