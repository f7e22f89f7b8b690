"""The definitions of custom resources, made from Python classes."""
