"""Kubernetes' own end-to-end tests of scheduling, run on the embedded cluster."""
