"""CapacityScheduling: what namespaces have for sure and at most, and how they lend one another the rest."""
