"""What is behind `moorage run`: its options, its process, and what it serves to whom."""
