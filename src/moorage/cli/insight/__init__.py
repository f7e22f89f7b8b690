"""Commands that say why: of a running scheduler, of manifests, of a log."""
