"""The decision log: every attempt with its verdicts and scores, in bounded memory and in files."""
