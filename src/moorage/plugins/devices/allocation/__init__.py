"""Finding devices for claims. Nothing here reads or writes a cluster."""
