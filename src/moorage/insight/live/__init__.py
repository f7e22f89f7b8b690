"""Questions to a scheduler that runs, answered with documents."""
