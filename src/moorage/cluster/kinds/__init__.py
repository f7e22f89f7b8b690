"""What is special about each built-in kind: its defaults, its rules, and what may change later."""
