"""What is asked of a user's functions before anything is drawn."""
