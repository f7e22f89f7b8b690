"""PodGroups of Kubernetes itself, behind its feature gates: the cycle, and what is written of it."""
