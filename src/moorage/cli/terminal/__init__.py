"""What `moorage up` writes: text that stays, and in a terminal a view that is kept current below it."""
