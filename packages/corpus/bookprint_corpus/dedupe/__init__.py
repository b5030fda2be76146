"""What to keep of a corpus: a table of its clusters, and the input without the books that are left out."""
