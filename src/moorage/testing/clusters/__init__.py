"""Whole clusters in the process of a test: an API server, nodes, and a scheduler with plugins."""
