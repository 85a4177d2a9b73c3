"""`auxmc sample` and `auxmc evidence`: a model in a Python file, sampled from the command line."""
