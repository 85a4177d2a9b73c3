"""One step of the workflow a module, each with a command line of its own."""
