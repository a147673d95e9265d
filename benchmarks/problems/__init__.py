"""Data sets and synthetic problems. Needs numpy only: peers read them in their own environments."""
