"""Benchmarks: `make bench` runs them and fails when a stated bound is missed."""
