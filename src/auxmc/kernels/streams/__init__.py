"""Evidence of streams and of growing data."""
