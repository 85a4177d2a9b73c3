"""Results in `published/`: written, restored, run again and compared."""
