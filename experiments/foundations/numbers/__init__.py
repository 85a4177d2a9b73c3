"""Topics on random numbers, direct sampling, importance weights and averages."""
