"""Files as values: opening, lazy metadata and tensors, writing, sets of shards."""
