"""Files that are right or refused, and locks on them."""
