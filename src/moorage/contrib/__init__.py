"""Plugins that come with Moorage and are off unless a configuration enables them."""
