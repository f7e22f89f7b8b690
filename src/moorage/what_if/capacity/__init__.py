"""How much more fits, which nodes are missing, and which are not needed."""
