"""The ground: documents, the store and its file, errors, times, quoting."""
