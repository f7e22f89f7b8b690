"""The shape of objects: which fields there are, of which type, and how lists of them are merged."""
