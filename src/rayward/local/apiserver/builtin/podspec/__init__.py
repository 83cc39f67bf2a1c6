"""Rules for the specification of pods, wherever one is embedded."""
