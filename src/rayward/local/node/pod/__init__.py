"""How a pod lives: pure decisions from its object, what its containers did, and the time."""
