"""What a user types: models of his own, methods for them, and runs; `import auxmc` gives these names."""
