"""From what a user names to a plugin that can be used: found, imported, checked, given its arguments."""
