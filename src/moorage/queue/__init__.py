"""Pods that wait to be scheduled: active, backing off, unschedulable and gated, and what wakes them."""
