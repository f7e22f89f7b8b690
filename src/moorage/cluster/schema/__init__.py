"""What objects look like: types, their recorded data, definitions, protobuf, OpenAPI."""
