"""One cost of a cluster per module: `declare` adds its command, `find` returns its table."""
