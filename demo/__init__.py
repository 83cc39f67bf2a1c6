"""The main job, shown: what ``make demo`` runs."""
