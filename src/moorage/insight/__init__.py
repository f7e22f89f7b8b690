"""Insight: why pods are where they are or are not, and what would help."""
