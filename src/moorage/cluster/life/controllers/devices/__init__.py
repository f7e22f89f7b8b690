"""Claims for devices: made for pods, reserved for them, and given up after them."""
