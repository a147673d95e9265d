"""What rows and blocks of rows contribute to q(u), and the gradients of it: passes over the data.

Imports `gp` and what is below it; objectives, fits, blocks and streams call these passes.
"""
