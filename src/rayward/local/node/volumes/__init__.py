"""Volumes of pods: what is in them, where they lie, and how they appear in a container."""
