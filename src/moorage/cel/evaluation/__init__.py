"""From a checked expression to its value."""
