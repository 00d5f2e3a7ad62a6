"""What running models needs, against llama.cpp."""
