"""Writing objects: create, change, delete, patch, bind; what they must pass on the way."""
