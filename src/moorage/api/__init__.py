"""Typed Kubernetes objects and the rules that go with them: quantities, selectors, tolerations, requests."""
