"""The embedded cluster: an API server in this process, with nodes, controllers and the life of pods."""
