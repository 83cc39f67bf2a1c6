"""Persistent volume claims."""
