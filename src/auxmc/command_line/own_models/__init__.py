"""`auxmc sample` and `auxmc evidence`: a model of one's own in one Python file, sampled from the command line."""
