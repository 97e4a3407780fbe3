"""Clusters for tests: processes, networks, certificates, projects."""
