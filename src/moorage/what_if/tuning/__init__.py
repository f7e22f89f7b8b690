"""Tuning: a search for weights and args with which a trace goes better."""
