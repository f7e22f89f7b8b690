"""Patches, server-side apply, and who manages which field."""
