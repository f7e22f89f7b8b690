"""The function libraries of Kubernetes' environment, one module each."""
