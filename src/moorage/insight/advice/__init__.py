"""Advice: what would make a pod fit; `advising` gives it, and tries every suggestion before."""
