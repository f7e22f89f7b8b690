"""Traces: what happened in a cluster, to be tried again with other settings."""
