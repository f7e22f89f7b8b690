"""Projects of plugins, ready to be tested, run and deployed."""
