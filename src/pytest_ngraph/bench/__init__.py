"""The bench: owns the worker processes and turns cases into records."""
