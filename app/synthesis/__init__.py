"""Synthetic books: made-up prose, OCR errors and edits. All functions are pure and seeded."""
