"""Coscheduling: the members of a PodGroup get their nodes together."""
