"""Books found by how catalogues describe them."""
