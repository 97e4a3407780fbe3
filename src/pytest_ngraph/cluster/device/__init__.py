"""A device of a cluster: a machine that joins, and measures what it is sent."""
