"""DefaultPreemption: pods that make room for others."""
