"""What rows and blocks of rows contribute to q(u), and the gradients of it: passes over the data.

Imports `gp` and what is below it; `objectives`, `predict` and `engines` import these passes.
"""
