"""One run: what is planned, measured, recorded, resumed and judged."""
