"""The objects that run a scheduler in a cluster, derived from its configuration and its plugins."""
