"""The plugins that place pods by their volumes."""
