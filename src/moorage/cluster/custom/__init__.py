"""Custom resources: their definitions, and the objects they define."""
