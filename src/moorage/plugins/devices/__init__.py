"""Finding devices for claims: what DynamicResources decides with. Nothing here reads or writes a cluster."""
