"""One step of the workflow or of `make` a module with a command line, and two modules that these share."""
