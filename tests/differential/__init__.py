"""Random models, run with torch and read without it: the two have to agree on every call of every block."""
