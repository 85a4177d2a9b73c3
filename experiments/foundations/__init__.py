"""Study: the algorithms, worked examples and illustrations of the background chapters."""
