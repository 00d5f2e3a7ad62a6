"""The quantizer strategies in NumPy: readable, and the oracle of the C forms."""
