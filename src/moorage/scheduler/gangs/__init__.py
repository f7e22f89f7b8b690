"""Gangs: pods that get their nodes in one cycle, enough of them or none."""
