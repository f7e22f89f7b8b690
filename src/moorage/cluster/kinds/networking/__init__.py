"""Ingresses, network policies, and the addresses that Services get."""
