"""Books made from nothing: synthetic prose, and what scanning and re-editing do to it. Pure and seeded."""
