"""What operators and their machines look at."""
