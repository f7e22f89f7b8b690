"""Scheduling in memory: scenarios, simulations, workloads."""
