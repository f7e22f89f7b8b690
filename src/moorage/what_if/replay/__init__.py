"""Replay: a trace once more, in virtual time, with other settings."""
