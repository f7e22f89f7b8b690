"""The API over HTTP: handlers, lists, watches, tables."""
