"""Effects of coaching in eight schools and their standard errors.

Source: Rubin 1981, "Estimation in parallel randomized experiments", Table 1.
"""

EFFECTS = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
ERRORS = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]
