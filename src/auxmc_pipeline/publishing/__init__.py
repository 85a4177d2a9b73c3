"""Results that are kept in the repository: written, continued from, listed and checked."""
