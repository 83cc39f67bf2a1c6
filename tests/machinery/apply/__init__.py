"""Specification of server-side apply."""
