"""What might help against each plugin's rejection: one module per kind of change."""
