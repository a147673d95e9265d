"""The page of results: its rows, what they must be, and how they are printed and drawn."""
