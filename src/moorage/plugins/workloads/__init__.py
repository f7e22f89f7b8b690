"""Plugins for pods that are scheduled as a group."""
