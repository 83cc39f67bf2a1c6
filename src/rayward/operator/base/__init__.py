"""What only Ray's controllers share: how they write, tokens of dashboards, taking over from KubeRay."""
