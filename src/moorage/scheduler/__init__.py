"""The scheduler: the cycle, binding, and what the cluster's changes mean for it."""
