"""Objectives of several classes at once, and what they say of rows that are left out."""
