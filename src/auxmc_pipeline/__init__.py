"""Turns studies into results, tables, figures, verdicts and a report; knows no particular study."""
