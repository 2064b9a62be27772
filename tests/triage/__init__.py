"""What the rules say of published releases, and what reading their code says of it."""
