"""A simulated world for every agent alike: tasks, tools, faults and one model."""
