"""The model adapter: opening models, asking them for records, reading what they say."""
