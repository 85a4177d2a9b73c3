"""Data sets that ship with the package, and the reader for the user's own."""
