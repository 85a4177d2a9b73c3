"""Steps of the workflow and of `make`, each a module with a command line."""
