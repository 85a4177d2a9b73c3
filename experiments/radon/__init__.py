"""Evidence of a hierarchical regression by continuous tempering from a variational base."""
