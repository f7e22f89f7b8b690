"""CRDs made from Python classes."""
