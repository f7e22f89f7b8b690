"""HTTP extenders: what is asked of them, how, and how a cycle waits for the answer."""
