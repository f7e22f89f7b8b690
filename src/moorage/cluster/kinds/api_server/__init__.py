"""What tells an API server about itself: who may ask how much, who answers for a group, certificates."""
