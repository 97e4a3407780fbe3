"""The client of a cluster: the session that sends cases and gathers records."""
