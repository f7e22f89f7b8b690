"""What works by itself: controllers and nodes."""
