"""Programs that others wrote, or that stand on clients of others, on a real server and on ours."""
