"""Sweeps: one trace replayed with many configurations, weights and seeds."""
