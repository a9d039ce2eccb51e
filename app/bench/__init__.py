"""Tasks with known answers in a world that fails by schedule, for any model."""
