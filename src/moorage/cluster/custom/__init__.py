"""CustomResourceDefinitions, and the resources they define."""
