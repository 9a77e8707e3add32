"""Reports: render(result) as text or JSON; no logic. Keys are escaped for the terminal here, and nowhere else."""
