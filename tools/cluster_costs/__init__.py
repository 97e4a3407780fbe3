"""The costs of a cluster, one per module: `declare` adds the command, `find` returns the table."""
