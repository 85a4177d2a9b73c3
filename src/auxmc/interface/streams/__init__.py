"""Models of rows, and their evidence as rows come."""
