"""What is special about each built-in kind."""
