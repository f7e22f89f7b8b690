"""PodTopologySpread: pods spread evenly over zones, nodes and other domains."""
