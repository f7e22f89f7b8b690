"""The HTTP API of insight, and the files of its page."""
