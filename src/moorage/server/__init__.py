"""The HTTPS server of the scheduler process: health, metrics, configuration, status."""
