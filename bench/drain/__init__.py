"""Moorage and kube-scheduler beside each other, on a real API server."""
