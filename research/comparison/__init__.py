"""Methods that tell copies of a book from other books, side by side on the same books."""
