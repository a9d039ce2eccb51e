"""One node a file, and the pure tables beside them."""
