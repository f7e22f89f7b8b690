"""What is done to a request that depends on other objects."""
