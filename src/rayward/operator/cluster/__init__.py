"""The RayCluster operator: what should exist, what is there, what to do about it, and the loop that does it."""
