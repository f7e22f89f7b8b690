"""The cluster as the scheduler sees it: a table of nodes in columns, their pods, and indexes over both."""
