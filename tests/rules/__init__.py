"""The rules on small sources: what is wrong is found where it stands, what only looks wrong is left alone."""
