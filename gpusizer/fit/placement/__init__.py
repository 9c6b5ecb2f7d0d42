"""Where layers of a model lie on unlike devices and in system memory, as llama.cpp deals them."""
