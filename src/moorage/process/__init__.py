"""What makes the scheduler a process: informers, election, events, metrics, logs."""
