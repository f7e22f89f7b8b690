"""Pictures of replays: plots over time, and a page with them."""
