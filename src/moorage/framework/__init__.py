"""The scheduling framework: extension points, what plugins answer, and the runtime that calls them."""
