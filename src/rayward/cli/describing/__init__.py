"""Objects told at length: pods as kubectl tells them, all others by their fields, conditions and events."""
