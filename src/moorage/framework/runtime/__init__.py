"""The runtime that calls plugins: a profile, its extension points, and the frame around every call."""
